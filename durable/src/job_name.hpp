// The name of a job as one text, as a key for tables: neither kind nor key contains a zero byte.
#pragma once

#include <string>

#include <tickwheel/durable.h>

namespace tickwheel::durable {

inline std::string name_of(const tw_durable_job &job) { return std::string(job.kind) + '\0' + job.key; }

}  // namespace tickwheel::durable
