// What the verbs do. Each returns what the program ends with.
#pragma once

#include "options.hpp"

namespace tickwheel::jobs {

enum ending { all_is_well = 0, database_failed = 1, usage_is_bad = 2, no_such_job = 3 };

int list(const options &o);
int count(const options &o);
int get(const options &o);
int put(const options &o);
int remove(const options &o);
int requeue(const options &o);
int watch(const options &o);

}  // namespace tickwheel::jobs
