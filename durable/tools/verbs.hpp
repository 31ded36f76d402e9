// What the verbs do. Each returns what the program ends with.
#pragma once

#include <tickwheel/durable.h>

#include "command_line.hpp"

namespace tickwheel::jobs {

enum ending { all_is_well = 0, database_failed = 1, usage_is_bad = 2, no_such_job = 3 };

// Throws bad_usage if the library takes none of these words, in the job or else in the options, for any
// database.
void check_words(const options &o, const tw_durable_job *job);

int list(const options &o);
int count(const options &o);
int get(const options &o);
int put(const options &o);
int remove(const options &o);
int requeue(const options &o);
int watch(const options &o);

}  // namespace tickwheel::jobs
