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

// Of the calls on n timers, half are moves of random ones of odd number, and a quarter
// removes random ones of even number, each once a round, for which a quarter sets others.
// No call looks at memory for its key: it is as if it had just come in.
template <class Keyed> std::vector<Sample> run_keyed(const Task &task) {
    const Delays delays = far_delays_of(task.inputs.ticks);
    Keyed timers;
    for (std::uint64_t i = 0; i < task.n; ++i)
        timers.set(key_of(i), delays[i & stream_mask]);
    std::vector<std::uint32_t> evens(task.n / 2);
    for (std::uint32_t i = 0; i < evens.size(); ++i)
        evens[i] = 2 * i;
    Random(5).shuffle(evens);

    const double two = cost_of_each(stream_length, [&](std::size_t k) {
        if (k % 2 == 0) {
            const std::uint64_t removed = k / 2, round = removed / evens.size();
            const std::uint64_t number = evens[removed % evens.size()] + round * task.n;
            timers.remove(key_of(number));
            timers.set(key_of(number + task.n), delays[k]);
        } else {
            timers.move(key_of(task.inputs.victims[k] | 1), delays[k]);
            timers.move(key_of(task.inputs.victims[k - 1] | 1), delays[k - 1]);
        }
    });
    require(timers.count() == task.n, "timers were lost");
    return {{Workload::keyed, two / 2}};
}

}  // namespace bench

#endif
