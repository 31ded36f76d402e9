// The random sequences, made once per n and the same for every implementation, and the memory
// that holds every implementation's timers.
#ifndef TICKWHEEL_BENCH_INPUTS_H
#define TICKWHEEL_BENCH_INPUTS_H

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "../tests/support/random.h"

namespace bench {

constexpr std::uint32_t horizon = 1u << 20;      // ticks that timers are spread over
constexpr std::size_t stream_length = 1u << 20;  // length of the random streams; a power of two
constexpr std::size_t stream_mask = stream_length - 1;

class Random {
  public:
    explicit Random(std::uint64_t seed) : state_(seed) {}

    std::uint64_t next() { return random_next(&state_); }
    std::uint32_t below(std::uint32_t bound) {
        return static_cast<std::uint32_t>(((next() >> 32) * bound) >> 32);
    }
    void shuffle(std::vector<std::uint32_t> &numbers) {
        for (std::size_t left = numbers.size(); left > 1; --left)
            std::swap(numbers[left - 1], numbers[below(static_cast<std::uint32_t>(left))]);
    }

  private:
    std::uint64_t state_;
};

struct Inputs {
    explicit Inputs(std::size_t n);

    std::vector<std::uint32_t> deadlines;  // one per timer, in [1, horizon]
    std::vector<std::uint32_t> order;      // the timers in random order
    std::vector<std::uint32_t> victims;    // stream of random timers
    std::vector<std::uint32_t> ticks;      // stream of random ticks in [1, horizon]
};

// Memory in huge pages where the system offers them, with every page touched, so that no figure
// includes the cost of first access. Callers that outlive a run return it with give_back.
void *fresh_memory(std::size_t bytes);
void give_back(void *memory, std::size_t bytes);

}  // namespace bench

#endif
