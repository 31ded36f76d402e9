// What tickwheel_scaling_bench measures. A comparison has variants that run in turn, A B C A B C ..., each in
// a process of its own, and ratios of two variants of one round.
//
// Threads that call the library pin themselves, one to each processor in turn. The runtime's thread stays
// free.
#ifndef TICKWHEEL_BENCH_SCALING_H
#define TICKWHEEL_BENCH_SCALING_H

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace bench::scaling {

struct Variant {
    std::string name;
    std::function<std::vector<double>(double seconds)> run;  // a value for each unit of its comparison
};

// Of the first values of two variants; without `under`, the value itself. At most one limit is set; none: no
// target.
struct Ratio {
    std::string text;
    std::string over, under;
    double at_least = 0, at_most = 0;
};

struct Comparison {
    std::string name;
    std::string meaning;
    std::size_t n;                   // timers, keys or entries
    std::vector<std::string> units;  // of the values of a variant
    std::vector<Variant> variants;
    std::vector<Ratio> ratios;
};

std::vector<Comparison> call_comparisons();   // calls.cpp: stop and start, again, move, keys
Comparison ttl_comparison();                  // ttl.cpp
std::vector<Comparison> delay_comparisons();  // delays.cpp: lateness, and the longest call
Comparison peers();                           // peers.cpp: with BENCH_HAS_PEERS
Comparison merging();                         // fires.cpp
Comparison calibration();                     // calibration.cpp: the constants of model.h

}  // namespace bench::scaling

#endif
