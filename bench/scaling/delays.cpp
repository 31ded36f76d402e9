// How long calls and fires wait: lateness next to busy threads, and the longest single call while timers
// fire.
#include <algorithm>

#include "cpu.h"
#include "scaling.h"
#include "service.h"

namespace bench::scaling {

namespace {

double part_of(std::vector<double> &sorted, double share) {
    return sorted[std::min(sorted.size() - 1,
                           static_cast<std::size_t>(share * static_cast<double>(sorted.size())))];
}

// --- lateness ------------------------------------------------------------------------------

constexpr std::size_t busy_threads = 8;

// Fires that were missed follow at once, so each of them counts with its own lateness.
struct Lateness {
    tw_runtime *runtime;
    std::vector<double> us;

    static void note(const tw_event *event, void *lateness) {
        auto &self = *static_cast<Lateness *>(lateness);
        const std::int64_t late = tw_runtime_now(self.runtime) - event->due_ns;
        require(late >= 0, "a timer fired early");
        self.us.push_back(static_cast<double>(late) / 1000);
    }
};

enum class Load { none, spin, stop_and_start };

// One thread of the load.
auto load_of(Load load, Service &service, std::size_t thread) {
    constexpr std::size_t timers = 1000;
    std::vector<tw_handle> handles(load == Load::stop_and_start ? timers : 0);
    Random random(thread);
    auto delay = [](Random &from) { return (10'000 + from.below(10'000)) * millisecond; };
    for (tw_handle &each : handles)
        each = service.start(delay(random));
    return [&service, handles, random, delay](const Flag &over) mutable {
        while (!over.load(std::memory_order_relaxed)) {
            const std::uint32_t any = random.below(timers);
            const std::int64_t distance = delay(random);
            if (handles.empty())
                continue;
            require(tw_timer_cancel(service.timers(), handles[any]) == 1, "tw_timer_cancel");
            handles[any] = service.start(distance);
        }
    };
}

std::vector<double> measure_lateness(Load load, Lanes lanes, double seconds) {
    Service service(lanes);
    Lateness lateness{service.runtime(), {}};
    lateness.us.reserve(1u << 20);
    tw_handle handle;
    require(tw_timer_every(service.timers(), &handle, millisecond, TW_BURST, Lateness::note, &lateness) == 0,
            "tw_timer_every");
    work_together(
        load == Load::none ? 0 : busy_threads,
        [&](std::size_t thread) { return load_of(load, service, thread); }, [&] { sleep_for(seconds); });
    require(tw_timer_cancel_wait(service.timers(), handle) == 1, "tw_timer_cancel_wait");
    require(!lateness.us.empty(), "the timer never fired");
    std::sort(lateness.us.begin(), lateness.us.end());
    return {part_of(lateness.us, 0.99), part_of(lateness.us, 0.5), lateness.us.back()};
}

Comparison lateness() {
    Comparison made;
    made.name = "lateness";
    made.meaning = "of a timer with a period of 1 ms, compared with n threads that do without the library";
    made.n = busy_threads;
    made.units = {"us, p99", "us, p50", "us, max"};
    auto add = [&](const char *name, Load load, Lanes lanes) {
        made.variants.push_back(
            {name, [load, lanes](double seconds) { return measure_lateness(load, lanes, seconds); }});
    };
    add("no-other-threads", Load::none, Lanes::usual);
    add("spin", Load::spin, Lanes::usual);
    add("stop-start", Load::stop_and_start, Lanes::usual);
    add("stop-start-1-lane", Load::stop_and_start, Lanes::one);
    made.ratios = {
        {"p99 next to threads that stop and start compared with spin", "stop-start", "spin", 0, 1.5},
        {"the same with one lane", "stop-start-1-lane", "spin"},
    };
    return made;
}

// --- the longest call ----------------------------------------------------------------------

constexpr std::size_t threads = 2, timers_of_thread = pending_timers / threads;

// Appends the processor time of work() to a list.
template <class Work> void time_call(std::vector<double> &us, Work work) {
    const double start = cpu_ns();
    work();
    us.push_back((cpu_ns() - start) / 1000);
}

// The processor time of each call of two threads. Without calls the clock alone: interrupts count, too.
std::vector<double> measure_longest(bool calls, Lanes lanes, Phases phases, double seconds) {
    Service service(lanes);
    service.fire_every_100_ms(firing_timers, phases);
    std::vector<std::vector<double>> us(threads);
    const std::uint64_t fired_before = service.fired();
    work_together(
        threads,
        [&](std::size_t thread) {
            us[thread].reserve(1u << 22);
            Random random(thread);
            std::vector<tw_handle> handles(timers_of_thread);
            for (tw_handle &each : handles)
                each = service.start(far_delay(random));
            return [&mine = us[thread], &service, calls, handles, random](const Flag &over) mutable {
                while (!over.load(std::memory_order_relaxed)) {
                    tw_handle &any = handles[random.below(timers_of_thread)];
                    const std::int64_t delay = far_delay(random);
                    time_call(mine, [&] { calls &&tw_timer_cancel(service.timers(), any); });
                    time_call(mine, [&] { any = calls ? service.start(delay) : any; });
                }
            };
        },
        [&] { sleep_for(seconds); });
    require(service.fired() > fired_before, "no timer fired");
    std::vector<double> all = us[0];
    all.insert(all.end(), us[1].begin(), us[1].end());
    std::sort(all.begin(), all.end());
    return {part_of(all, 0.9999), part_of(all, 0.5), all.back()};
}

Comparison longest(const char *name, const char *meaning, Phases phases) {
    Comparison made;
    made.name = name;
    made.meaning = meaning;
    made.n = firing_timers;
    made.units = {"us, p99.99", "us, p50", "us, max"};
    auto add = [&](const char *variant, bool calls, Lanes lanes) {
        made.variants.push_back({variant, [calls, lanes, phases](double seconds) {
                                     return measure_longest(calls, lanes, phases, seconds);
                                 }});
    };
    add("no-calls", false, Lanes::usual);
    add("stop-start", true, Lanes::usual);
    add("stop-start-1-lane", true, Lanes::one);
    made.ratios = {
        {"p99.99 in us", "stop-start", "", 0, 20},
        {"p99.99 in us, one lane", "stop-start-1-lane", ""},
        {"p99.99 compared with the clock alone", "stop-start", "no-calls"},
    };
    return made;
}

}  // namespace

std::vector<Comparison> delay_comparisons() {
    return {
        lateness(),
        longest("longest-call",
                "processor time of each stop and each start on two threads, while n timers fire every 100 ms",
                Phases::spread),
        longest("longest-call-burst", "the same, all n timers due on the same ticks", Phases::equal),
    };
}

}  // namespace bench::scaling
