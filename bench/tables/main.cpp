// Compares the library's own hash table with well-known ones. docs/DESIGN.md cites the figures.
// Run by hand; not part of ./dev bench.
//     build/bench/bench/bench_tables [N]      one million keys of 16 bytes, or N
#include <algorithm>

#include "../cpu.h"
#include "peers.h"

namespace {

using namespace bench;

constexpr int rounds = 5;

struct Figures {
    std::vector<double> build, find, miss, replace;
    std::vector<double> each_insert;  // cost of each insertion as the table grows: the minimum over all
                                      // rounds, since machines stall
};

// Keys 0 to n - 1 are present; keys from n on are absent.
struct Keys {
    explicit Keys(std::size_t n) : inputs(n), all(2 * n) {
        for (std::size_t i = 0; i < all.size(); ++i)
            all[i] = key_of(i);
    }
    Inputs inputs;
    std::vector<Key> all;
};

template <class Peer> void measure(const Keys &keys, Figures &figures) {
    const std::size_t n = keys.all.size() / 2;
    const std::vector<std::uint32_t> &victims = keys.inputs.victims, &order = keys.inputs.order;
    Peer peer(n + 1);
    std::size_t found = 0;
    figures.build.push_back(cost_of_each(n, [&](std::size_t i) { peer.insert(keys.all[i]); }));
    figures.find.push_back(cost_of_each(
        stream_length, [&](std::size_t i) { found += peer.find(keys.all[victims[i]])->rest[0] == 0; }));
    figures.miss.push_back(
        cost_of_each(stream_length, [&](std::size_t i) { found += !peer.find(keys.all[n + victims[i]]); }));
    require(found == 2 * stream_length, "not what was inserted was found");
    figures.replace.push_back(cost_of_each(n, [&](std::size_t i) {
        peer.erase(keys.all[order[i]]);
        peer.insert(keys.all[n + i]);
    }));
}

template <class Peer> void measure_each_insert(const Keys &keys, Figures &figures) {
    const std::size_t n = keys.all.size() / 2;
    Peer peer(n);
    figures.each_insert.resize(n, 1e18);
    double before = cpu_ns();
    for (std::size_t i = 0; i < n; ++i) {
        peer.insert(keys.all[i]);
        const double after = cpu_ns();
        figures.each_insert[i] = std::min(figures.each_insert[i], after - before);
        before = after;
    }
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

template <class... Peers> void compare(const Keys &keys) {
    Figures figures[sizeof...(Peers)];
    for (int round = 0; round < rounds; ++round) {
        std::size_t i = 0;
        (measure<Peers>(keys, figures[i++]), ...);
        i = 0;
        (measure_each_insert<Peers>(keys, figures[i++]), ...);
    }
    std::printf("%-20s %10s %10s %10s %14s %14s\n", "ns", "insert", "find", "miss", "erase+insert",
                "longest insert");
    const char *names[] = {Peers::name...};
    for (std::size_t i = 0; i < sizeof...(Peers); ++i)
        std::printf("%-20s %10.1f %10.1f %10.1f %14.1f %14.0f\n", names[i], median(figures[i].build),
                    median(figures[i].find), median(figures[i].miss), median(figures[i].replace),
                    *std::max_element(figures[i].each_insert.begin(), figures[i].each_insert.end()));
}

}  // namespace

int main(int argc, char **argv) {
    const std::size_t n = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1'000'000;
    require(n > 0 && n <= 10'000'000, "not a number of keys, up to ten million");
    compare<Own, UnorderedMap
#if __has_include(<tsl/robin_map.h>)
            ,
            RobinMap
#endif
#if __has_include(<uthash.h>)
            ,
            Uthash
#endif
            >(Keys(n));
}
