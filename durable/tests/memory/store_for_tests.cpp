// The stores that the suite tests: this one, and those of the library.
#include <string_view>

#include "memory_store.h"
#include "tests/store_test.hpp"

const tw_store *store_for_tests(const char *address) {
    return std::string_view(address).substr(0, 7) == "memory:" ? &memory_store : tw_store_for(address);
}
