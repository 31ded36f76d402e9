// See connection.hpp.
#include "connection.hpp"

#include <unistd.h>

#include <cerrno>

namespace tickwheel::jobs {

namespace {

constexpr char sqlite[] = "sqlite:";

// The library would make the file, and a misspelt name would look like a database without jobs.
void check_that_it_is_there(const std::string &address) {
    if (address.starts_with(sqlite) && ::access(address.c_str() + sizeof sqlite - 1, F_OK) != 0 &&
        errno == ENOENT)
        throw std::runtime_error("there is no such file: " + address.substr(sizeof sqlite - 1));
}

}  // namespace

connection::connection(const options &o) {
    if (o.what != verb::put)
        check_that_it_is_there(*o.database);
    tw_durable_options c = {};
    c.schema = o.schema ? o.schema->c_str() : nullptr;
    check(tw_durable_open(&durable_, nullptr, o.database->c_str(), &c));
}

}  // namespace tickwheel::jobs
