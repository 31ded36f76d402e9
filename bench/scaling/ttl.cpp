// A ttl_map that threads share: nine gets to one set, of random entries.
#include <tickwheel/tickwheel.hpp>
#include <tickwheel/ttl_map.hpp>

#include <memory>

#include "scaling.h"
#include "team.h"
#include "ttl/ttl.h"

namespace bench::scaling {

namespace {

constexpr std::size_t entries = 100'000;

struct Setting {
    const char *name;
    std::size_t threads, maps, shards;
};
constexpr Setting settings[] = {
    {"one-thread", 1, 1, 1},
    {"two-threads", 2, 1, 1},
    {"two-maps", 2, 2, 1},
    {"one-thread-16-shards", 1, 1, 16},
    {"two-threads-16-shards", 2, 1, 16},
};

// A map on a runtime of its own. A shard must not be full, or it would evict.
struct SharedMap {
    explicit SharedMap(std::size_t shards)
        : map(runtime, {.ttl = std::chrono::hours(1), .max_size = 2 * entries, .shards = shards}) {}

    tickwheel::runtime runtime;
    tickwheel::ttl_map<Name, Value> map;
};

std::vector<double> measure(const Setting &setting, double seconds) {
    const std::vector<Name> names = names_of("user/", entries);
    std::vector<std::unique_ptr<SharedMap>> maps;
    for (std::size_t i = 0; i < setting.maps; ++i) {
        maps.push_back(std::make_unique<SharedMap>(setting.shards));
        for (const Name &name : names)
            maps.back()->map.set(name, Value{});
    }
    const Calls calls = make_calls(setting.threads, seconds, [&](std::size_t thread) {
        auto &map = maps[thread % setting.maps]->map;
        return [&map, &names, random = Random(thread), k = std::uint64_t{0}]() mutable {
            const Name &name = names[random.below(entries)];
            if (++k % 10 == 0)
                map.set(name, Value{k, {}});
            else
                require(map.get(name).has_value(), "an entry was lost");
        };
    });
    return {calls.millions_a_second, calls.cpu_ns};
}

}  // namespace

Comparison ttl_comparison() {
    Comparison made;
    made.name = "ttl";
    made.meaning = "nine gets to one set of random ones of n entries, bounded to twice as many";
    made.n = entries;
    made.units = {"M calls/s", "cpu ns/call"};
    for (const Setting &setting : settings)
        made.variants.push_back(
            {setting.name, [&setting](double seconds) { return measure(setting, seconds); }});
    made.ratios = {
        {"two threads compared with one", "two-threads", "one-thread", 1.7},
        {"two threads compared with two maps", "two-threads", "two-maps"},
        {"16 shards, two threads compared with one", "two-threads-16-shards", "one-thread-16-shards"},
    };
    return made;
}

}  // namespace bench::scaling
