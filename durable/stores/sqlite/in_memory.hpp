// Databases in memory, sqlite::memory:NAME. SQLite shares one within the process under its name, and frees it
// with its last connection. A file has a log that listeners can watch; the listeners of a database in memory
// are kept here.
//
// Threads: all functions can be called from any.
#pragma once

#include <string>

namespace tickwheel::durable::sqlite {

// What SQLite calls the database with this path, or an empty string if it is no database in memory.
std::string name_in_memory(const std::string &path);

// Returns a descriptor that becomes readable when `wake_listeners` is called for this database, or -1.
int begin_to_listen(const std::string &name);
void end_listening(const std::string &name, int descriptor);
void wake_listeners(const std::string &name);

}  // namespace tickwheel::durable::sqlite
