// What users say of jobs, checked at the edge. Inside, jobs are valid: names are valid, times are whole
// microseconds within the range that can be kept, and defaults are filled in.
#pragma once

#include <tickwheel/durable.h>

#include "schedule.hpp"

namespace tickwheel::durable {

// 0 or -EINVAL, with a note of why.
int check_name(const char *name, const char *what);
int check_filter(const tw_durable_filter &filter);
int check_schema(const char *schema);

// Fills in `checked`, which points to what `job` does. A job with a cron expression still lacks its due time;
// `dates`, if not null, is that expression then.
int check_job(const tw_durable_job &job, tw_durable_job &checked, calendar *dates = nullptr);

}  // namespace tickwheel::durable
