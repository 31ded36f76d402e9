// The constants of model.h: what a lock, a clock and a cache line's journey between two processors cost.
#include <tickwheel/port.h>

#include <algorithm>
#include <mutex>

#include "cpu.h"
#include "scaling.h"
#include "service.h"

namespace bench::scaling {

namespace {

constexpr std::size_t times = 1u << 22;

// Keeps the compiler from removing the work on a value.
template <class T> void use(T &value) { __asm__ volatile("" : "+m"(value) : : "memory"); }

double uncontended_lock(double) {
    std::uint32_t word;
    tw_port_lock_init(&word);
    return cost_of_each(times, [&](std::size_t) {
        tw_port_lock(&word);
        tw_port_unlock(&word);
    });
}

double uncontended_mutex(double) {
    std::thread([] {}).join();  // glibc's mutex may be cheaper in a process that never had two threads
    std::mutex mutex;
    return cost_of_each(times, [&](std::size_t) { const std::lock_guard hold(mutex); });
}

double clock_reading(double) {
    return cost_of_each(times, [](std::size_t) {
        std::int64_t now = monotonic_ns();
        use(now);
    });
}

// What a thread of stop-start does apart from its calls.
double loop(double) {
    std::vector<tw_handle> handles(pending_timers);
    std::vector<std::int64_t> delays(1u << 16);
    Random random(1);
    Flag over{false};
    return cost_of_each(times, [&](std::size_t k) {
        use(over);
        handles[random.below(pending_timers)] = static_cast<tw_handle>(delays[k & (delays.size() - 1)]);
    });
}

// Two threads take turns for so many seconds, and at least for one batch of steps. Each call of step(thread)
// does this thread's step, if its turn has come, and returns whether it has. Returns the nanoseconds of a
// step: the median over batches, because the machine now and then gives a processor to others.
template <class Step> double in_turn(double seconds, Step step) {
    constexpr std::size_t batch = 500;  // of this thread's steps; the other one does as many
    std::vector<double> batches;
    batches.reserve(1u << 20);
    Flag has_batch{false};
    work_together(
        2,
        [&](std::size_t thread) {
            return [&batches, &has_batch, step, thread](const Flag &over) {
                std::int64_t before = monotonic_ns();
                for (std::size_t steps = 0; !over.load(std::memory_order_relaxed) || !has_batch.load();) {
                    if (!step(thread) || ++steps % batch != 0 || thread != 0)
                        continue;
                    const std::int64_t now = monotonic_ns();
                    batches.push_back(per(static_cast<double>(now - before), 2 * batch));
                    has_batch = true;
                    before = now;
                }
            };
        },
        [&] { sleep_for(seconds); });
    std::sort(batches.begin(), batches.end());
    return batches[batches.size() / 2];
}

// Two threads write to one line in turn: half of a round trip.
double line_journey(double seconds) {
    alignas(128) std::atomic<std::size_t> turn{0};
    return in_turn(seconds, [&turn](std::size_t thread) {
        if (turn.load(std::memory_order_acquire) != thread)
            return false;
        turn.store(1 - thread, std::memory_order_release);
        return true;
    });
}

// A lock and what it guards, on one line.
struct alignas(128) Shared {
    std::uint32_t word;
    std::size_t last = 0;
    std::uint64_t holds = 0;

    Shared() { tw_port_lock_init(&word); }
    void hold(std::size_t thread) {
        ++holds;
        last = thread;
    }
};

// Two threads that only take and release the lock.
double contended_lock(double seconds) {
    Shared shared;
    double ns = 0;
    work_together(
        2,
        [&](std::size_t thread) {
            return [&shared, thread](const Flag &over) {
                while (!over.load(std::memory_order_relaxed)) {
                    tw_port_lock(&shared.word);
                    shared.hold(thread);
                    tw_port_unlock(&shared.word);
                }
            };
        },
        [&] {
            const std::int64_t start = monotonic_ns();
            sleep_for(seconds);
            ns = static_cast<double>(monotonic_ns() - start);
        });
    return per(ns, shared.holds);
}

// Two threads that take the lock strictly in turn: each waits until the other has released the lock and said
// so, which is the journey of another line.
double lock_in_turn(double seconds) {
    Shared shared;
    alignas(128) std::atomic<std::size_t> turn{0};
    return in_turn(seconds, [&](std::size_t thread) {
        if (turn.load(std::memory_order_acquire) != thread)
            return false;
        tw_port_lock(&shared.word);
        shared.hold(thread);
        tw_port_unlock(&shared.word);
        turn.store(1 - thread, std::memory_order_release);
        return true;
    });
}

// Two threads, each of which sleeps until the other wakes it.
double woken(double seconds) {
    alignas(128) std::uint32_t turn = 0;
    return in_turn(seconds, [&turn](std::size_t thread) {
        const std::uint32_t seen = __atomic_load_n(&turn, __ATOMIC_ACQUIRE);
        if (seen != thread) {
            tw_port_wait(&turn, seen, monotonic_ns() + 10 * millisecond);
            return false;
        }
        __atomic_store_n(&turn, static_cast<std::uint32_t>(1 - thread), __ATOMIC_RELEASE);
        tw_port_wake_all(&turn);
        return true;
    });
}

}  // namespace

Comparison calibration() {
    Comparison made;
    made.name = "calibration";
    made.meaning = "what locks and lines of the cache cost on this machine";
    made.n = 0;
    made.units = {"ns"};
    auto add = [&](const char *name, double (*measure)(double)) {
        made.variants.push_back({name, [measure](double seconds) { return std::vector{measure(seconds)}; }});
    };
    add("lock", uncontended_lock);
    add("std-mutex", uncontended_mutex);
    add("clock-read", clock_reading);
    add("loop", loop);
    add("line-journey", line_journey);
    add("lock-in-turn", lock_in_turn);
    add("woken-in-turn", woken);
    add("contended-lock", contended_lock);
    return made;
}

}  // namespace bench::scaling
