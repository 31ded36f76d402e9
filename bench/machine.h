// The JSON files of the benchmarks: the machine, and one object for each result.
#ifndef TICKWHEEL_BENCH_MACHINE_H
#define TICKWHEEL_BENCH_MACHINE_H

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

namespace bench {

inline std::string quoted(const std::string &text) {
    std::string json = "\"";
    for (char c : text)
        if (c == '"' || c == '\\')
            json += {'\\', c};
        else if (c >= ' ')
            json += c;
    return json + "\"";
}

inline std::string cpu_model() {
    std::ifstream cpuinfo("/proc/cpuinfo");
    for (std::string line; std::getline(cpuinfo, line);)
        if (line.starts_with("model name"))
            return line.substr(line.find(':') + 2);
    return "unknown";
}

// The members of the object, without its braces.
inline void write_machine(std::ostream &out) {
    utsname system;
    uname(&system);
    out << "\"cpu\":" << quoted(cpu_model()) << ",\"cores\":" << sysconf(_SC_NPROCESSORS_ONLN)
        << ",\"memory_mb\":" << (sysconf(_SC_PHYS_PAGES) / 1024) * (sysconf(_SC_PAGESIZE) / 1024)
        << ",\"system\":" << quoted(std::string(system.sysname) + " " + system.release)
        << ",\"compiler\":" << quoted(__VERSION__);
}

// The values of several runs.
struct Spread {
    double least, median, most;
};

inline Spread spread_of(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const std::size_t half = values.size() / 2;
    const double median = values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
    return {values.front(), median, values.back()};
}

inline void write_spread(std::ostream &out, const Spread &of, std::size_t runs) {
    out << "\"value\":" << of.median << ",\"runs\":" << runs << ",\"min\":" << of.least
        << ",\"max\":" << of.most;
}

inline void write_result(std::ostream &out, const std::string &workload, const std::string &implementation,
                         std::size_t n, const std::string &unit, const Spread &of, std::size_t runs) {
    out << "{\"workload\":" << quoted(workload) << ",\"impl\":" << quoted(implementation) << ",\"n\":" << n
        << ",\"unit\":" << quoted(unit) << ",";
    write_spread(out, of, runs);
    out << "}";
}

}  // namespace bench

#endif
