// A job of the database, as it is shown.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tickwheel/durable.h>

namespace tickwheel::jobs {

const char *name_of(tw_durable_state state);

// Heads of a table of jobs, and a row of it. What others have written is cut to `most` columns.
std::vector<std::string> heads();
std::vector<std::string> row(const tw_durable_entry &entry, std::int64_t now_ns, std::size_t most);

// All of a job, a line for each part.
std::string described(const tw_durable_entry &entry, std::int64_t now_ns);

// An object of JSON. Names are strings as they are, and the payload is, too, if it is UTF-8.
std::string json_of(const tw_durable_entry &entry);

}  // namespace tickwheel::jobs
