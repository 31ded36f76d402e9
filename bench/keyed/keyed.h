// Workload `keyed`: timers under keys of 16 bytes.
//
// An implementation is a class `Keyed`:
//   Keyed()
//   set(key, delay_ns)    under a key that is absent
//   move(key, delay_ns)   under a key that is present
//   remove(key)           a key that is present
//   count()               how many keys are present
#ifndef TICKWHEEL_BENCH_KEYED_H
#define TICKWHEEL_BENCH_KEYED_H

#include "../cpu.h"
#include "../delays.h"
#include "../keys.h"
#include "../module.h"

namespace bench {

// Half of the calls on n timers move a random one of odd number. A quarter remove a random one of
// even number, each once a round, and a quarter set a new one in its place. The key is computed
// at the call instead of loaded from memory, as if it had just arrived in a packet.
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
