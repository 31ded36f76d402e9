// The targets this library has to reach, and the check against the results.
#include "report.h"

namespace bench {

namespace {

struct Part {
    Workload workload;
    std::size_t n;
    const char *implementation;
};

// The limit applies to the figure itself, to its ratio to another, or to the difference between
// the two.
enum class On { figure, ratio, difference };
struct Target {
    const char *text;
    double limit;
    On on;
    Part measured;
    Part against = {};
};

constexpr const char *own = "tickwheel";
constexpr std::size_t million = 1'000'000;

const Target targets[] = {
    {"rearm-hot, unlocked: 0.5 x libev",
     0.5,
     On::ratio,
     {Workload::rearm_hot, million, own},
     {Workload::rearm_hot, million, "libev"}},
    {"rearm-hot, locked: 1.2 x libev",
     1.2,
     On::ratio,
     {Workload::rearm_hot, million, "tickwheel-locked"},
     {Workload::rearm_hot, million, "libev"}},
    {"rearm-cold: 0.6 x libev",
     0.6,
     On::ratio,
     {Workload::rearm_cold, million, own},
     {Workload::rearm_cold, million, "libev"}},
    {"rearm-cold: 0.2 x libuv",
     0.2,
     On::ratio,
     {Workload::rearm_cold, million, own},
     {Workload::rearm_cold, million, "libuv"}},
    {"postpone: 0.5 x rearm-cold",
     0.5,
     On::ratio,
     {Workload::postpone, million, own},
     {Workload::rearm_cold, million, own}},
    {"expire: 0.45 x libev",
     0.45,
     On::ratio,
     {Workload::expire, million, own},
     {Workload::expire, million, "libev"}},
    {"expire: 0.2 x libuv",
     0.2,
     On::ratio,
     {Workload::expire, million, own},
     {Workload::expire, million, "libuv"}},
    {"worst-tick: 300 us", 300, On::figure, {Workload::worst_tick, million, own}},
    {"sparse: 20 us for the whole run", 20, On::figure, {Workload::sparse, 10, own}},
    {"rearm-cold, 10 M: 1.5 x that of 1 M",
     1.5,
     On::ratio,
     {Workload::rearm_cold, 10 * million, own},
     {Workload::rearm_cold, million, own}},
    {"contend: 0.2 x multimap",
     0.2,
     On::ratio,
     {Workload::contend, 100'000, own},
     {Workload::contend, 100'000, "multimap"}},
    {"contend: 0.5 x libev",
     0.5,
     On::ratio,
     {Workload::contend, 100'000, own},
     {Workload::contend, 100'000, "libev"}},
    {"contend: 0.5 x libev-sparing",
     0.5,
     On::ratio,
     {Workload::contend, 100'000, own},
     {Workload::contend, 100'000, "libev-sparing"}},
    {"contend, by handle: 1/6 x libev-sparing",
     1. / 6,
     On::ratio,
     {Workload::contend, 100'000, "tickwheel-handles"},
     {Workload::contend, 100'000, "libev-sparing"}},
    {"foreign: the lock + 60 ns",
     60,
     On::difference,
     {Workload::foreign, 1000, own},
     {Workload::foreign, 1000, "lock"}},
    {"handle, start and stop, 100 k: 1.3 x nodes",
     1.3,
     On::ratio,
     {Workload::handle_start, 100'000, own},
     {Workload::handle_start, 100'000, "tickwheel-nodes"}},
    {"handle, start and stop: 1.5 x nodes",
     1.5,
     On::ratio,
     {Workload::handle_start, million, own},
     {Workload::handle_start, million, "tickwheel-nodes"}},
    {"handle, move, 100 k: 1.3 x nodes",
     1.3,
     On::ratio,
     {Workload::handle_move, 100'000, own},
     {Workload::handle_move, 100'000, "tickwheel-nodes"}},
    {"handle, move: 1 x nodes",
     1,
     On::ratio,
     {Workload::handle_move, million, own},
     {Workload::handle_move, million, "tickwheel-nodes"}},
    {"handle, move, 10 M: 1.5 x that of 1 M",
     1.5,
     On::ratio,
     {Workload::handle_move, 10 * million, own},
     {Workload::handle_move, million, own}},
    {"life: 0.45 x nodes",
     0.45,
     On::ratio,
     {Workload::life, million, own},
     {Workload::life, million, "tickwheel-nodes"}},
    {"life: 1.3 x the yardstick",
     1.3,
     On::ratio,
     {Workload::life, million, own},
     {Workload::life, million, "logs"}},
    {"churn: 1.3 x the yardstick",
     1.3,
     On::ratio,
     {Workload::churn, million, own},
     {Workload::churn, million, "logs"}},
    {"block, longest: 200 us", 200, On::figure, {Workload::block_longest, million, own}},
    {"block, total: 160 ns", 160, On::figure, {Workload::block_total, million, own}},
    {"memory-handle: 112 bytes", 112, On::figure, {Workload::handle_memory, million, own}},
    {"keyed: 0.5 x unordered_map of libev",
     0.5,
     On::ratio,
     {Workload::keyed, million, own},
     {Workload::keyed, million, "libev-map"}},
    {"spawn: 0.35 x asio",
     0.35,
     On::ratio,
     {Workload::spawn, million, own},
     {Workload::spawn, million, "asio"}},
    {"observed, arm and cancel: 1.03 x unmeasured",
     1.03,
     On::ratio,
     {Workload::observed_rearm, million, own},
     {Workload::observed_rearm, million, "unmeasured"}},
    {"observed, nodes fired: 1.03 x unmeasured",
     1.03,
     On::ratio,
     {Workload::observed_nodes, million, own},
     {Workload::observed_nodes, million, "unmeasured"}},
    {"observed, handles fired: 1.03 x unmeasured",
     1.03,
     On::ratio,
     {Workload::observed_handles, million, own},
     {Workload::observed_handles, million, "unmeasured"}},
    {"ttl: 0.6 x mutex-scan",
     0.6,
     On::ratio,
     {Workload::ttl_mix, million, own},
     {Workload::ttl_mix, million, "mutex-scan"}},
    {"ttl: 0.6 x mutex-multimap",
     0.6,
     On::ratio,
     {Workload::ttl_mix, million, own},
     {Workload::ttl_mix, million, "mutex-multimap"}},
    {"ttl, p99: 1 x mutex-scan",
     1,
     On::ratio,
     {Workload::ttl_p99, million, own},
     {Workload::ttl_p99, million, "mutex-scan"}},
    {"ttl, p99: 1 x mutex-multimap",
     1,
     On::ratio,
     {Workload::ttl_p99, million, own},
     {Workload::ttl_p99, million, "mutex-multimap"}},
};

// These targets apply to each driver.
struct DriverTarget {
    const char *text;
    double limit;
    On on;
    Workload workload;
    std::size_t n;
};
const DriverTarget driver_targets[] = {
    {"lateness, p50: timerfd-loop + 5 us", 5, On::difference, Workload::lateness_p50, 1},
    {"lateness, p50, 10 k: timerfd-loop + 10 us", 10, On::difference, Workload::lateness_p50, 10'000},
    {"idle, no timer: no wake-up", 0, On::figure, Workload::idle, 0},
    {"idle, a timer in an hour: no wake-up", 0, On::figure, Workload::idle, 1},
};

const Result *find(const std::vector<Result> &results, const Part &part) {
    return bench::find(results, part.workload, part.n, part.implementation);
}

double figure_of(const Target &target, const Result &measured, const Result *against) {
    switch (target.on) {
    case On::ratio:
        return measured.value() / against->value();
    case On::difference:
        return measured.value() - against->value();
    default:
        return measured.value();
    }
}

// Returns whether the target was measured.
bool print_target(const Target &target, const std::vector<Result> &results) {
    const Result *measured = find(results, target.measured);
    const Result *against = target.on == On::figure ? measured : find(results, target.against);
    if (!measured || !against)
        return false;
    const double figure = figure_of(target, *measured, against);
    std::printf("  %-43s %-17s %10.4g   %s\n", target.text, target.measured.implementation, figure,
                figure <= target.limit ? "met" : "MISSED");
    return true;
}

}  // namespace

void print_targets(const std::vector<Result> &results) {
    int others = 0;
    std::printf("\n%-45s %-17s %10s\n", "targets, at most", "", "measured");
    for (const Target &each : targets)
        others += !print_target(each, results);
    for (const DriverTarget &each : driver_targets)
        for (const char *driver :
             {"tickwheel-sleep", "tickwheel-epoll", "tickwheel-uring", "tickwheel-timerfd"})
            others += !print_target({each.text,
                                     each.limit,
                                     each.on,
                                     {each.workload, each.n, driver},
                                     {each.workload, each.n, "timerfd-loop"}},
                                    results);
    if (others != 0)
        std::printf("  %d others were not measured\n", others);
}

}  // namespace bench
