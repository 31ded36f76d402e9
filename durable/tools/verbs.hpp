// Carries out the verbs. Each function returns the program's exit status.
#pragma once

#include <tickwheel/durable.h>

#include "command_line.hpp"

namespace tickwheel::jobs {

class connection;

enum ending { all_is_well = 0, database_failed = 1, usage_is_bad = 2, no_such_job = 3 };

// Throws bad_usage if the library rejects the job, or if `job` is null the names and the filter in the
// options, whatever the database is.
void check_words(const options &o, const tw_durable_job *job);

// The filter of the options, at this time of the database. The result points into `o`.
tw_durable_filter filter_of(const options &o, std::int64_t now_ns);

// A kind that is misspelt selects nothing. If the kind of the options has no jobs, and no process handles it,
// says so on the standard error and returns true.
bool warn_of_unknown_kind(const connection &to, const options &o);

// Says in a sentence why a table is empty, but only at a terminal: a script finds no output.
void say_at_terminal(const char *why);

int list(const options &o);
int count(const options &o);
int kinds(const options &o);
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
