// The name of a job as one text, to use as a key in tables. A zero byte separates kind and key, which contain
// none.
#pragma once

#include <string>

#include <tickwheel/durable.h>

namespace tickwheel::durable {

inline std::string name_of(const tw_durable_job &job) { return std::string(job.kind) + '\0' + job.key; }

}  // namespace tickwheel::durable
