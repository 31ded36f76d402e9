// The texts that show a job of the database.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tickwheel/durable.h>

namespace tickwheel::jobs {

// In one word, as --state takes it.
const char *name_of(tw_durable_state state);

// The heads and a row of a table of jobs. `row` cuts texts from the database to `most` columns.
std::vector<std::string> heads();
std::vector<std::string> row(const tw_durable_entry &entry, std::int64_t now_ns, std::size_t most);

// A row of 80 columns at most: kind, key, state, when, and the holder or the error.
std::vector<std::string> narrow_row(const tw_durable_entry &entry, std::int64_t now_ns);

// All fields of a job, one on each line.
std::string described(const tw_durable_entry &entry, std::int64_t now_ns);

// A JSON object with all fields. Texts are JSON strings; so is the payload if it is UTF-8, otherwise it is in
// hexadecimal.
std::string json_of(const tw_durable_entry &entry);

}  // namespace tickwheel::jobs
