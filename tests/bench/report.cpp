#include "report.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>

namespace bench {

const std::vector<WorkloadInfo> workload_infos = {
    {Workload::rearm_hot, "rearm-hot", "ns/op", "add and cancel one timer, n pending"},
    {Workload::rearm_cold, "rearm-cold", "ns/op", "move a random one of n"},
    {Workload::postpone, "postpone", "ns/op", "push a random one of n later, time standing still"},
    {Workload::serve, "serve", "ns/packet", "n idle timeouts pushed later, time going on, all costs in"},
    {Workload::expire, "expire", "ns/timer",
     "arm n timers over 2^20 ticks, go there tick by tick, call them"},
    {Workload::worst_tick, "worst-tick", "us",
     "longest tick in processor time, n timers in one block of 2^16"},
    {Workload::sparse, "sparse", "us/run", "n timers over 16 M ticks, from deadline to deadline"},
    {Workload::periodic, "periodic", "ns/fire", "n periodic timers, periods of 20 to 200 ticks"},
    {Workload::memory_timer, "memory", "bytes/timer", "storage and heap of n armed timers"},
    {Workload::memory_loop, "memory", "bytes/wheel", "a wheel or loop without timers"},
    {Workload::idle_tick, "idle-tick", "ns/tick", "one tick with n timers pending, none due"},
};

const WorkloadInfo &info(Workload workload) {
    return *std::find_if(workload_infos.begin(), workload_infos.end(),
                         [&](const WorkloadInfo &each) { return each.workload == workload; });
}

double Result::value() const {
    std::vector<double> sorted = values;
    std::sort(sorted.begin(), sorted.end());
    if (workload == Workload::worst_tick)
        return sorted.front();
    const std::size_t half = sorted.size() / 2;
    return sorted.size() % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

double Result::least() const { return *std::min_element(values.begin(), values.end()); }
double Result::most() const { return *std::max_element(values.begin(), values.end()); }

namespace {

constexpr const char *own = "tickwheel";

const Result *find(const std::vector<Result> &results, Workload workload, std::size_t n,
                   const std::string &implementation) {
    for (const Result &each : results)
        if (each.workload == workload && each.n == n && each.implementation == implementation &&
            !each.values.empty())
            return &each;
    return nullptr;
}

// 1,000,000
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

// A ratio that has to be reached. Without a second part the limit is on the first's value.
struct Part {
    Workload workload;
    std::size_t n;
    const char *implementation;
};
struct Target {
    const char *text;
    Part measured;
    Part against;
    double limit;
};

constexpr std::size_t million = 1000000;
constexpr Part nothing{Workload::rearm_hot, 0, ""};

const Target targets[] = {
    {"rearm-hot, unlocked: 0.5 x libev",
     {Workload::rearm_hot, million, own},
     {Workload::rearm_hot, million, "libev"},
     0.5},
    {"rearm-hot, locked: 1.2 x libev",
     {Workload::rearm_hot, million, "tickwheel-locked"},
     {Workload::rearm_hot, million, "libev"},
     1.2},
    {"rearm-cold: 0.6 x libev",
     {Workload::rearm_cold, million, own},
     {Workload::rearm_cold, million, "libev"},
     0.6},
    {"rearm-cold: 0.2 x libuv",
     {Workload::rearm_cold, million, own},
     {Workload::rearm_cold, million, "libuv"},
     0.2},
    {"postpone: 0.5 x rearm-cold",
     {Workload::postpone, million, own},
     {Workload::rearm_cold, million, own},
     0.5},
    {"expire: 0.6 x libev", {Workload::expire, million, own}, {Workload::expire, million, "libev"}, 0.6},
    {"expire: 0.2 x libuv", {Workload::expire, million, own}, {Workload::expire, million, "libuv"}, 0.2},
    {"worst-tick: 1/100 of look-ahead off",
     {Workload::worst_tick, million, own},
     {Workload::worst_tick, million, "tickwheel-plain"},
     0.01},
    {"worst-tick: 300 us", {Workload::worst_tick, million, own}, nothing, 300},
    {"sparse: 20 us for the whole run", {Workload::sparse, 10, own}, nothing, 20},
    {"rearm-cold, 10 M: 1.5 x that of 1 M",
     {Workload::rearm_cold, 10 * million, own},
     {Workload::rearm_cold, million, own},
     1.5},
};

void print_target(const Target &target, const std::vector<Result> &results) {
    const bool is_ratio = target.against.n != 0;
    const Result *measured =
        find(results, target.measured.workload, target.measured.n, target.measured.implementation);
    const Result *against =
        find(results, target.against.workload, target.against.n, target.against.implementation);
    if (!measured || (is_ratio && !against)) {
        std::printf("  %-38s %12s   not measured\n", target.text, "");
        return;
    }
    const double figure = measured->value() / (is_ratio ? against->value() : 1);
    std::printf("  %-38s %12.4g   %s\n", target.text, figure, figure <= target.limit ? "met" : "MISSED");
}

std::string quoted(const std::string &text) {
    std::string json = "\"";
    for (char c : text)
        if (c == '"' || c == '\\')
            json += {'\\', c};
        else if (c >= ' ')
            json += c;
    return json + "\"";
}

std::string cpu_model() {
    std::ifstream cpuinfo("/proc/cpuinfo");
    for (std::string line; std::getline(cpuinfo, line);)
        if (line.starts_with("model name"))
            return line.substr(line.find(':') + 2);
    return "unknown";
}

void write_machine(std::ostream &out, const std::vector<Implementation> &implementations) {
    utsname system;
    uname(&system);
    out << "{\"cpu\":" << quoted(cpu_model()) << ",\"cores\":" << sysconf(_SC_NPROCESSORS_ONLN)
        << ",\"memory_mb\":" << (sysconf(_SC_PHYS_PAGES) / 1024) * (sysconf(_SC_PAGESIZE) / 1024)
        << ",\"system\":" << quoted(std::string(system.sysname) + " " + system.release)
        << ",\"compiler\":" << quoted(__VERSION__) << ",\"versions\":{";
    for (const Implementation &each : implementations)
        out << (&each == &implementations.front() ? "" : ",") << quoted(each.name) << ":"
            << quoted(each.module->version);
    out << "}}";
}

}  // namespace

void print_tables(const std::vector<Result> &results) {
    const Result *before = nullptr;
    for (const Result &each : results) {
        if (!before || before->workload != each.workload || before->n != each.n) {
            const WorkloadInfo &about = info(each.workload);
            std::printf("\n%s, n = %s: %s\n", about.name, grouped(each.n).c_str(), about.meaning);
            std::printf("  %-17s %12s %12s ..%12s %11s\n", "", about.unit, "least", "most", "tickwheel=1");
        }
        print_result(each, find(results, each.workload, each.n, own));
        before = &each;
    }
}

void print_idioms(const std::vector<Implementation> &implementations) {
    std::printf("\npostpone and serve use\n");
    for (const Implementation &each : implementations)
        std::printf("  %-17s %s (%s)\n", each.name.c_str(), each.module->postpone_idiom,
                    each.module->version);
}

void print_targets(const std::vector<Result> &results) {
    std::printf("\n%-40s %12s\n", "targets, at most", "measured");
    for (const Target &each : targets)
        print_target(each, results);
}

bool write_json(const std::string &path, const std::vector<Result> &results,
                const std::vector<Implementation> &implementations) {
    std::ofstream out(path);
    out.precision(10);
    out << "{\"machine\":";
    write_machine(out, implementations);
    out << ",\n\"results\":[";
    const char *separator = "\n";
    for (const Result &each : results) {
        if (each.values.empty())
            continue;
        out << separator << "{\"workload\":" << quoted(info(each.workload).name)
            << ",\"impl\":" << quoted(each.implementation) << ",\"n\":" << each.n
            << ",\"value\":" << each.value() << ",\"unit\":" << quoted(info(each.workload).unit)
            << ",\"runs\":" << each.values.size() << ",\"min\":" << each.least() << ",\"max\":" << each.most()
            << "}";
        separator = ",\n";
    }
    out << "\n]}\n";
    return static_cast<bool>(out.flush());
}

}  // namespace bench
