// Opening modules and running them, each run in a process of its own.
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

// Nothing if it was not built because its library is not there.
std::optional<Implementation> open_implementation(const std::string &name, Kind kind);

// In a child process: the heap is as fresh for the last as for the first, and taking
// down ten million timers costs no time. Nothing if the child failed.
std::optional<std::vector<Sample>> run_apart(const Implementation &implementation, const Task &task);

// Has malloc ask for huge pages, as fresh_memory does: starts this program anew with
// glibc told so, once.
void use_huge_pages_in_malloc(char **argv);

}  // namespace bench

#endif
