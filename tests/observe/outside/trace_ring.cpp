// The ring of a recording, by itself: a reader gets whole entries only, however many threads write and lap
// each other.
#include "observe/trace_ring.hpp"

#include <pthread.h>

#include "support/sanitized.h"
#include "support/test.h"

using tickwheel::observe::kept_fire;
using tickwheel::observe::trace_ring;

namespace {

constexpr unsigned places = 4, writers = 3;
constexpr std::uint64_t fires_of_each = SLOW ? 20'000 : 500'000;

tickwheel::observe::trace_ring::place memory[places];
tickwheel::observe::trace_ring ring;

// Every field follows from one number.
tickwheel::observe::kept_fire fire_of(std::uint64_t n) {
    return {n, ~n, static_cast<std::int64_t>(n * 3), static_cast<std::int64_t>(n * 5), n * 7, n * 11, n * 13};
}
bool is_whole(const tickwheel::observe::kept_fire &fire) {
    const tickwheel::observe::kept_fire as_it_was = fire_of(fire.begun);
    return memcmp(&fire, &as_it_was, sizeof fire) == 0;
}

void *write_many(void *arg) {
    const std::uint64_t first = std::uint64_t{reinterpret_cast<std::uintptr_t>(arg)} << 32;
    for (std::uint64_t n = 0; n < fires_of_each; ++n)
        ring.put(fire_of(first + n));
    return nullptr;
}

TEST(holds_the_last_and_no_others) {
    ring.use(memory, places);
    for (std::uint64_t n = 0; n < 10; ++n)
        ring.put(fire_of(n));
    tickwheel::observe::kept_fire fire;
    assert_int_equal(ring.written(), 10);
    assert_int_equal(ring.oldest(), 6);
    for (std::uint64_t n = 0; n < 12; ++n) {
        assert_int_equal(ring.get(n, fire), n >= 6 && n < 10);
        if (n >= 6 && n < 10)
            assert_int_equal(fire.begun, n);
    }
    ring.forget();
    assert_int_equal(ring.oldest(), 10);
}

TEST(is_whole_when_read) {
    pthread_t threads[writers];
    for (unsigned i = 0; i < writers; ++i)
        assert_int_equal(
            pthread_create(&threads[i], nullptr, write_many, reinterpret_cast<void *>(std::uintptr_t{i} + 1)),
            0);
    std::uint64_t read = 0;
    while (ring.written() < writers * fires_of_each) {
        const std::uint64_t end = ring.written();
        for (std::uint64_t n = ring.oldest(); n < end; ++n) {
            tickwheel::observe::kept_fire fire;
            if (!ring.get(n, fire))
                continue;
            assert_true(is_whole(fire));
            ++read;
        }
    }
    for (const pthread_t thread : threads)
        pthread_join(thread, nullptr);
    print_message("%llu fires were read\n", static_cast<unsigned long long>(read));
}

// A writer that does not exist in the child of a fork leaves its place unfinished.
TEST(goes_on_where_a_writer_has_vanished) {
    ring.begin_in_child();
    const std::uint64_t next = ring.written();
    for (tickwheel::observe::trace_ring::place &each : memory)
        each.turn.store(2 * (next - 1) + 1);
    assert_int_equal(ring.oldest(), next);
    for (std::uint64_t n = 0; n < places; ++n)
        ring.put(fire_of(n));
    tickwheel::observe::kept_fire fire;
    for (std::uint64_t n = 0; n < places; ++n)
        assert_true(ring.get(next + n, fire) && fire.begun == n);
}

}  // namespace
