// The stores of this library. tw_store_for chooses one of them by the scheme of an address.
#pragma once

#include <string>

#include <tickwheel/durable_store.h>

namespace tickwheel::durable {

extern const tw_store sqlite_store;    // only in a build with SQLite
extern const tw_store postgres_store;  // only in a build with libpq

// Makes a relative path of an address for the SQLite store absolute, so that connections that the library
// opens later lead to the same file, even if the process has changed its folder.
std::string absolute_address(const tw_store &store, const char *address);

// The same for an address of the SQLite store; only in a build with SQLite.
std::string absolute_sqlite_address(const char *address);

// The explanation for an address that no store of this build accepts: lists the addresses that are accepted.
const char *addresses_of_this_build();

}  // namespace tickwheel::durable
