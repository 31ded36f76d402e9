// Databases in memory, sqlite::memory:NAME. SQLite shares such a database within the process by its name, and
// frees it with its last connection. A file has a log that listeners can watch; this module keeps the
// listeners of a database in memory.
//
// Threads: any thread may call any function.
#pragma once

#include <string>

namespace tickwheel::durable::sqlite {

// SQLite's name for the database with this path, or an empty string if the database is not in memory.
std::string name_in_memory(const std::string &path);

// A listener is an eventfd, which belongs to the caller. `wake_listeners` makes all listeners of this
// database readable. Removing a listener that was not added does nothing. `add_listener` throws
// std::bad_alloc.
void add_listener(const std::string &name, int descriptor);
void remove_listener(const std::string &name, int descriptor);
void wake_listeners(const std::string &name);

}  // namespace tickwheel::durable::sqlite
