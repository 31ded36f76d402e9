// Opens modules and runs each one in a process of its own.
#ifndef TICKWHEEL_BENCH_RUNNER_H
#define TICKWHEEL_BENCH_RUNNER_H

#include <optional>
#include <string>
#include <vector>

#include "module.h"

namespace bench {

struct Implementation {
    std::string name;
    Kind kind;
    const Module *module;
};

// Returns nullopt if the module was not built because its library is missing.
std::optional<Implementation> open_implementation(const std::string &name, Kind kind);

// Runs in a child process: every run starts with a fresh heap, and no time goes into freeing ten
// million timers. Returns nullopt if the child failed.
std::optional<std::vector<Sample>> run_apart(const Implementation &implementation, const Task &task);

// Makes malloc use huge pages, as fresh_memory does. Re-executes this program once with the glibc
// tunable set.
void use_huge_pages_in_malloc(char **argv);

}  // namespace bench

#endif
