// What the JSON files of the benchmarks say about the machine.
#ifndef TICKWHEEL_BENCH_MACHINE_H
#define TICKWHEEL_BENCH_MACHINE_H

#include <sys/utsname.h>
#include <unistd.h>

#include <fstream>
#include <string>

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

}  // namespace bench

#endif
