// Timers under keys of 16 bytes.
//
// An implementation is a class `Keyed`:
//   Keyed()
//   set(key, delay_ns)    under a key that is not there
//   move(key, delay_ns)   under one that is there
//   remove(key)           the same
//   count()               how many there are
#ifndef TICKWHEEL_BENCH_KEYED_H
#define TICKWHEEL_BENCH_KEYED_H

#include "../cpu.h"
#include "../delays.h"
#include "../keys.h"
#include "../module.h"

namespace bench {

// Of the calls on n timers, half are moves of random ones, a quarter removes random ones,
// and a quarter sets new ones in their place.
template <class Keyed> std::vector<Sample> run_keyed(const Task &task) {
    const Delays delays = far_delays_of(task.inputs.ticks);
    const std::vector<Key> keys = random_keys(task.n + stream_length / 2);
    std::vector<std::uint32_t> there(task.n);  // numbers of keys
    Keyed timers;
    for (std::uint32_t i = 0; i < there.size(); ++i) {
        there[i] = i;
        timers.set(keys[i], delays[i & stream_mask]);
    }

    auto fresh = static_cast<std::uint32_t>(task.n);
    const double two = cost_of_each(stream_length, [&](std::size_t k) {
        std::uint32_t &victim = there[task.inputs.victims[k]];
        if (k % 2 == 0) {
            timers.remove(keys[victim]);
            victim = fresh++;
            timers.set(keys[victim], delays[k]);
        } else {
            timers.move(keys[victim], delays[k]);
            timers.move(keys[there[task.inputs.victims[stream_length - k]]], delays[k - 1]);
        }
    });
    require(timers.count() == task.n, "timers were lost");
    return {{Workload::keyed, two / 2}};
}

}  // namespace bench

#endif
