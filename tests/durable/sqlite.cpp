// What is particular to the SQLite store. The suite in store.cpp has what every store must do.
#include "sqlite_test.hpp"

int main() {
    using namespace tickwheel::durable::tests;
    return test_files() + test_processes() + test_schemas() + test_joined() == 0 ? 0 : 1;
}
