// The workloads with their units, and the three kinds of report; see report.h.
#include "report.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <set>
#include <utility>

#include "machine.h"

namespace bench {

const std::vector<WorkloadInfo> workload_infos = {
    {Workload::rearm_hot, Kind::calls, "rearm-hot", "ns/op", "add and cancel one timer, n pending"},
    {Workload::rearm_cold, Kind::calls, "rearm-cold", "ns/op", "move a random one of n"},
    {Workload::postpone, Kind::calls, "postpone", "ns/op",
     "push a random one of n later, time standing still"},
    {Workload::serve, Kind::calls, "serve", "ns/packet",
     "n idle timeouts pushed later, time going on, all costs in"},
    {Workload::expire, Kind::calls, "expire", "ns/timer",
     "arm n timers over 2^20 ticks, go there tick by tick, call them"},
    {Workload::worst_tick, Kind::calls, "worst-tick", "us",
     "longest tick in processor time, n timers in one block of 2^16"},
    {Workload::sparse, Kind::calls, "sparse", "us/run",
     "n timers over 16 M ticks, from deadline to deadline"},
    {Workload::periodic, Kind::calls, "periodic", "ns/fire", "n periodic timers, periods of 20 to 200 ticks"},
    {Workload::memory_timer, Kind::calls, "memory", "bytes/timer", "storage and heap of n armed timers"},
    {Workload::memory_loop, Kind::calls, "memory", "bytes/wheel", "a wheel or loop without timers"},
    {Workload::lateness_p50, Kind::waiting, "lateness", "us, p50",
     "from deadline to callback; one timer fires, at irregular distances, beside n - 1 others"},
    {Workload::lateness_p99, Kind::waiting, "lateness", "us, p99", "the same"},
    {Workload::lateness_max, Kind::waiting, "lateness", "us, max", "the same"},
    {Workload::fire_cpu, Kind::waiting, "fire-cpu", "us/fire",
     "processor time, the system's included, in the same"},
    {Workload::idle, Kind::waiting, "idle", "wake-ups/s",
     "how often a loop's thread wakes up; n timers, an hour away"},
    {Workload::contend, Kind::threads, "contend", "ns/arming",
     "two threads arm random ones of n, 1 ms to 10 s ahead, while a third fires them"},
    {Workload::foreign, Kind::threads, "foreign", "ns/arming",
     "a thread arms n idle timers, while the one that fires them sleeps"},
    {Workload::handle_start, Kind::handle, "handle", "ns/start+stop",
     "start and stop one timer that the library keeps, n pending"},
    {Workload::handle_move, Kind::handle, "handle", "ns/move", "move a random one of n"},
    {Workload::life, Kind::handle, "life", "ns/timer",
     "start n timers over 2^20 ticks of virtual time, go there tick by tick, call them"},
    {Workload::churn, Kind::handle, "churn", "ns/stop+start", "stop a random one of n and start another"},
    {Workload::block_longest, Kind::handle, "block", "us, longest",
     "a tick in processor time, n timers in one block of 2^16"},
    {Workload::block_p999, Kind::handle, "block", "us, p99.9", "the same"},
    {Workload::block_total, Kind::handle, "block", "ns/timer", "all ticks together, without the starts"},
    {Workload::handle_memory, Kind::handle, "memory-handle", "bytes/handle",
     "resident memory of n timers that the library keeps"},
    {Workload::keyed, Kind::keyed, "keyed", "ns/call",
     "n timers under keys of 16 bytes: half moves, a quarter each sets and removes"},
    {Workload::spawn, Kind::spawn, "spawn", "ns/lambda",
     "n lambdas over 2^20 ticks of virtual time: spawn them, go there in leaps of 1024, call them"},
    {Workload::ttl_mix, Kind::ttl, "ttl", "ns/call", "nine gets to one set of random ones of n entries"},
    {Workload::ttl_p50, Kind::ttl, "ttl", "us, p50",
     "a get of n entries, by the clock on the wall, while 100,000 others leave at once"},
    {Workload::ttl_p99, Kind::ttl, "ttl", "us, p99", "the same"},
    {Workload::ttl_max, Kind::ttl, "ttl", "us, max", "the same"},
    {Workload::observed_rearm, Kind::observing, "observed", "ns/arm+cancel",
     "one node on a runtime, with and without its meter"},
    {Workload::observed_nodes, Kind::observing, "observed", "ns/node",
     "n nodes come due within 400 ms of real time: processor time to fire them"},
    {Workload::observed_handles, Kind::observing, "observed", "ns/handle", "the same, n handles"},
    {Workload::idle_tick, Kind::calls, "idle-tick", "ns/tick", "one tick with n timers pending, none due"},
};

const WorkloadInfo &info(Workload workload) {
    return *std::find_if(workload_infos.begin(), workload_infos.end(),
                         [&](const WorkloadInfo &each) { return each.workload == workload; });
}

double Result::value() const {
    std::vector<double> sorted = values;
    std::sort(sorted.begin(), sorted.end());
    if (workload == Workload::worst_tick || workload == Workload::block_longest)
        return sorted.front();
    const std::size_t half = sorted.size() / 2;
    return sorted.size() % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

const Result *find(const std::vector<Result> &results, Workload workload, std::size_t n,
                   const std::string &implementation) {
    for (const Result &each : results)
        if (each.workload == workload && each.n == n && each.implementation == implementation &&
            !each.values.empty())
            return &each;
    return nullptr;
}

double Result::least() const { return *std::min_element(values.begin(), values.end()); }
double Result::most() const { return *std::max_element(values.begin(), values.end()); }

namespace {

constexpr const char *own = "tickwheel";

// Groups digits by thousands: 1,000,000.
std::string grouped(std::size_t n) {
    std::string digits = std::to_string(n);
    for (std::size_t at = digits.size(); at > 3; at -= 3)
        digits.insert(at - 3, 1, ',');
    return digits;
}

void print_result(const Result &result, const Result *ours) {
    if (result.values.empty()) {
        std::printf("  %-17s not run: %s\n", result.implementation.c_str(), result.not_run.c_str());
        return;
    }
    std::printf("  %-17s %12.2f %12.2f ..%12.2f", result.implementation.c_str(), result.value(),
                result.least(), result.most());
    if (ours && ours->value() > 0)
        std::printf(" %9.2f x", result.value() / ours->value());
    std::printf("\n");
}

void write_machine(std::ostream &out, const std::vector<Implementation> &implementations) {
    out << "{";
    bench::write_machine(out);
    out << ",\"versions\":{";
    std::set<std::string> written;
    for (const Implementation &each : implementations)
        if (written.insert(each.name).second)
            out << (written.size() == 1 ? "" : ",") << quoted(each.name) << ":"
                << quoted(each.module->version);
    out << "}}";
}

void write_meanings(std::ostream &out) {
    const char *separator = "\n";
    for (const WorkloadInfo &each : workload_infos) {
        out << separator << "{\"workload\":" << quoted(each.name) << ",\"unit\":" << quoted(each.unit)
            << ",\"meaning\":" << quoted(each.meaning) << "}";
        separator = ",\n";
    }
}

void write_not_run(std::ostream &out, const std::vector<Result> &results) {
    const char *separator = "\n";
    for (const Result &each : results) {
        if (!each.values.empty())
            continue;
        out << separator << "{\"workload\":" << quoted(info(each.workload).name)
            << ",\"unit\":" << quoted(info(each.workload).unit) << ",\"impl\":" << quoted(each.implementation)
            << ",\"n\":" << each.n << ",\"why\":" << quoted(each.not_run) << "}";
        separator = ",\n";
    }
}

}  // namespace

void print_tables(const std::vector<Result> &results) {
    const Result *before = nullptr;
    for (const Result &each : results) {
        const Result *ours = find(results, each.workload, each.n, own);
        if (!before || before->workload != each.workload || before->n != each.n) {
            const WorkloadInfo &about = info(each.workload);
            std::printf("\n%s, n = %s: %s\n", about.name, grouped(each.n).c_str(), about.meaning);
            std::printf("  %-17s %12s %12s ..%12s %11s\n", "", about.unit, "least", "most",
                        ours ? "tickwheel=1" : "");
        }
        print_result(each, ours);
        before = &each;
    }
}

void print_idioms(const std::vector<Implementation> &implementations) {
    constexpr std::pair<Kind, const char *> titles[] = {
        {Kind::calls, "postpone and serve use"},
        {Kind::waiting, "lateness and idle use, each with a timer slack of 1 ns"},
        {Kind::threads, "contend and foreign use"},
        {Kind::handle,
         "handle uses, on a runtime whose thread sleeps, and life, block and memory-handle on virtual time"},
        {Kind::keyed, "keyed uses"},
        {Kind::spawn, "spawn uses"},
        {Kind::ttl, "ttl uses"},
        {Kind::observing, "observed uses"},
    };
    for (const auto &[kind, title] : titles) {
        bool titled = false;
        for (const Implementation &each : implementations) {
            if (each.kind != kind)
                continue;
            if (!std::exchange(titled, true))
                std::printf("\n%s\n", title);
            std::printf("  %-17s %s (%s)\n", each.name.c_str(), each.module->idiom, each.module->version);
        }
    }
}

bool write_json(const std::string &path, const std::vector<Result> &results,
                const std::vector<Implementation> &implementations,
                const std::vector<std::string> &not_built) {
    std::ofstream out(path);
    out.precision(10);
    out << "{\"machine\":";
    write_machine(out, implementations);
    out << ",\n\"results\":[";
    const char *separator = "\n";
    for (const Result &each : results) {
        if (each.values.empty())
            continue;
        out << separator;
        write_result(out, info(each.workload).name, each.implementation, each.n, info(each.workload).unit,
                     {each.least(), each.value(), each.most()}, each.values.size());
        separator = ",\n";
    }
    out << "\n],\n\"not_run\":[";
    write_not_run(out, results);
    out << "\n],\n\"not_built\":[";
    for (const std::string &name : not_built)
        out << (&name == &not_built.front() ? "" : ",") << quoted(name);
    out << "],\n\"workloads\":[";
    write_meanings(out);
    out << "\n]}\n";
    return static_cast<bool>(out.flush());
}

}  // namespace bench
