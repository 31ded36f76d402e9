// Carries out the verbs. Each function returns the program's exit status.
#pragma once

#include <tickwheel/durable.h>

#include "command_line.hpp"

namespace tickwheel::jobs {

enum ending { all_is_well = 0, database_failed = 1, usage_is_bad = 2, no_such_job = 3 };

// Throws bad_usage if the library rejects the job, or if `job` is null the names and the filter in the
// options, whatever the database is.
void check_words(const options &o, const tw_durable_job *job);

// The filter of the options, at this time of the database. The result points into `o`.
tw_durable_filter filter_of(const options &o, std::int64_t now_ns);

int list(const options &o);
int count(const options &o);
int counts(const options &o);
int members(const options &o);
int get(const options &o);
int why(const options &o);
int put(const options &o);
int fire(const options &o);
int remove(const options &o);
int requeue(const options &o);
int watch(const options &o);
int report(const options &o);
int metrics(const options &o);
int setup(const options &o);

}  // namespace tickwheel::jobs
