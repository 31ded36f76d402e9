// Chooses the store of an address. TW_WITH_SQLITE and TW_WITH_POSTGRES are defined if this build has that
// store.
#include <cstring>

#include "src/guard.hpp"
#include "stores.hpp"

namespace tickwheel::durable {

namespace {

bool begins_with(const char *address, const char *scheme) {
    const std::size_t size = std::strlen(scheme);
    return std::strncmp(address, scheme, size) == 0 && address[size] == ':';
}

}  // namespace

const char *addresses_of_this_build() {
    return "no such kind of database; this build has"
#ifdef TW_WITH_SQLITE
           " sqlite:PATH, sqlite::memory:NAME"
#endif
#if defined TW_WITH_SQLITE && defined TW_WITH_POSTGRES
           ","
#endif
#ifdef TW_WITH_POSTGRES
           " postgresql://USER@HOST/DATABASE"
#endif
        ;
}

std::string absolute_address([[maybe_unused]] const tw_store &store, const char *address) {
#ifdef TW_WITH_SQLITE
    if (&store == &sqlite_store)
        return absolute_sqlite_address(address);
#endif
    return address;
}

}  // namespace tickwheel::durable

using namespace tickwheel::durable;

TW_API const tw_store *tw_store_for(const char *address) {
    if (address == nullptr)
        return nullptr;
#ifdef TW_WITH_SQLITE
    if (begins_with(address, "sqlite"))
        return &sqlite_store;
#endif
#ifdef TW_WITH_POSTGRES
    if (begins_with(address, "postgresql") || begins_with(address, "postgres"))
        return &postgres_store;
#endif
    return nullptr;
}
