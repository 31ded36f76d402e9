// The stores of this library. tw_store_for chooses one of them by the scheme of an address.
#pragma once

#include <tickwheel/durable_store.h>

namespace tickwheel::durable {

extern const tw_store sqlite_store;    // only in a build with SQLite
extern const tw_store postgres_store;  // only in a build with libpq

// The explanation for an address that no store of this build accepts: lists the addresses that are accepted.
const char *addresses_of_this_build();

}  // namespace tickwheel::durable
