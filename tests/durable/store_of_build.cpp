// The store that the suite tests, if it is one of the library.
#include "store_test.hpp"

const tw_store *store_for_tests(const char *address) { return tw_store_for(address); }
