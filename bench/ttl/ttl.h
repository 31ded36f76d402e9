// Workload `ttl`: maps whose elements expire.
//
// An implementation is a class `Map` from Name to Value, for any number of threads. It has room
// for `bound` elements and evicts the least recently used one first:
//   Map(bound)
//   set(name, value, ttl)   ttl is a std::chrono::nanoseconds
//   get(name)               std::optional<Value>
//   size()                  elements that are in memory
#ifndef TICKWHEEL_BENCH_TTL_H
#define TICKWHEEL_BENCH_TTL_H

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <thread>

#include "../cpu.h"
#include "../module.h"

namespace bench {

using Name = std::string;
struct Value {
    std::uint64_t number, rest[3];
};

using std::chrono::steady_clock;

inline std::vector<Name> names_of(const char *kind, std::size_t count) {
    std::vector<Name> names;
    names.reserve(count);
    for (std::size_t i = 0; i < count; ++i)
        names.push_back(kind + std::to_string(i));
    return names;
}

// Nine gets to one set, of random elements of n.
template <class Map>
double get_and_set(Map &map, const std::vector<Name> &names, const std::vector<std::uint32_t> &victims) {
    std::uint64_t found = 0;
    const double cost = cost_of_each(stream_length, [&](std::size_t k) {
        if (k % 10 == 0)
            map.set(names[victims[k]], Value{k, {}}, std::chrono::hours(1));
        else
            found += map.get(names[victims[k]]).has_value();
    });
    require(found == stream_length - (stream_length + 9) / 10, "an entry was lost");
    return cost;
}

// Adds elements that share one deadline, which is still ahead when all of them are present.
template <class Map>
steady_clock::time_point set_with_one_deadline(Map &map, const std::vector<Name> &names) {
    for (std::chrono::nanoseconds lead = std::chrono::seconds(1);; lead *= 2) {
        const auto deadline = steady_clock::now() + lead;
        for (const Name &name : names)
            map.set(name, Value{}, std::max(deadline - steady_clock::now(), std::chrono::nanoseconds(1)));
        if (steady_clock::now() < deadline)
            return deadline;
    }
}

constexpr std::size_t brief_ones = 100'000;

// How long a get takes while so many other elements, all with one deadline, expire.
template <class Map>
std::vector<Sample> get_while_expiring(Map &map, const std::vector<Name> &names,
                                       const std::vector<std::uint32_t> &victims) {
    std::this_thread::sleep_until(set_with_one_deadline(map, names_of("brief/", brief_ones)));

    std::vector<double> us;
    us.reserve(4 * stream_length);
    for (std::size_t k = 0; map.size() > names.size(); ++k) {
        const Name &name = names[victims[k & stream_mask]];
        const auto start = steady_clock::now();
        const bool found = map.get(name).has_value();
        us.push_back(std::chrono::duration<double, std::micro>(steady_clock::now() - start).count());
        require(found, "an entry was lost");
    }
    std::sort(us.begin(), us.end());
    require(!us.empty(), "everything has left before it was looked at");
    return {{Workload::ttl_p50, us[us.size() / 2]},
            {Workload::ttl_p99, us[(us.size() * 99 - 1) / 100]},
            {Workload::ttl_max, us.back()}};
}

template <class Map> std::vector<Sample> run_ttl(const Task &task) {
    const std::vector<Name> names = names_of("user/", task.n);
    Map map(task.n + std::max(task.n, brief_ones));
    for (const Name &name : names)
        map.set(name, Value{}, std::chrono::hours(1));
    const double mix = get_and_set(map, names, task.inputs.victims);
    std::vector<Sample> samples = get_while_expiring(map, names, task.inputs.victims);
    samples.push_back({Workload::ttl_mix, mix});
    return samples;
}

}  // namespace bench

#endif
