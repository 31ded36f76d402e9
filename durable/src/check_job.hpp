// Checks the jobs that users pass in, at the edge. Inside, jobs are valid: names are valid, times are whole
// microseconds within the storable range, and defaults are filled in.
#pragma once

#include <tickwheel/durable.h>

#include "schedule.hpp"

namespace tickwheel::durable {

// The checks return 0 or -EINVAL, and note why.
int check_name(const char *name, const char *what);
int check_filter(const tw_durable_filter &filter);
int check_schema(const char *schema);

// Takes `existing` by reference, because C code may store any number in an enum.
int check_existing(const tw_durable_existing &existing);

// Returns -EEXIST, for a put with TW_DURABLE_ADD that has found a job of the same name.
int refuse_taken_name();

// Checks a job, and copies it to `checked` with its defaults filled in. The copy shares the pointers of
// `job`. If the job has a cron expression, the caller must still fill in the due time; `dates`, if not null,
// receives the parsed expression.
int check_job(const tw_durable_job &job, tw_durable_job &checked, calendar *dates = nullptr);

}  // namespace tickwheel::durable
