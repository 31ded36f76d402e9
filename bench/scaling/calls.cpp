// Calls on timers by handle and by key: one thread and two, on one runtime and on a runtime each.
#include <tickwheel/keyed.h>

#include <memory>

#include "keys.h"
#include "scaling.h"
#include "service.h"

namespace bench::scaling {

namespace {

// Drawn beforehand, so that the calls alone are measured.
const Delays &far_delays() {
    static const Delays delays = [] {
        Random random(7);
        Delays drawn(1u << 16);
        for (std::int64_t &each : drawn)
            each = far_delay(random);
        return drawn;
    }();
    return delays;
}

// The timers of one thread, and its random choices.
class Caller {
  public:
    Caller(Service &service, std::size_t timers, std::size_t thread)
        : service_(&service), random_(thread), handles_(timers) {
        for (tw_handle &each : handles_)
            each = service.start(delay());
    }

    void stop_and_start() {
        tw_handle &timer = any();
        require(tw_timer_cancel(service_->timers(), timer) == 1, "tw_timer_cancel");
        timer = service_->start(delay());
    }
    void again() { require(tw_timer_again(service_->timers(), any()) == 0, "tw_timer_again"); }
    void move() { require(tw_timer_move(service_->timers(), any(), delay()) == 0, "tw_timer_move"); }

  private:
    tw_handle &any() { return handles_[random_.below(static_cast<std::uint32_t>(handles_.size()))]; }
    std::int64_t delay() { return far_delays()[++used_ & (far_delays().size() - 1)]; }

    Service *service_;
    Random random_;
    std::vector<tw_handle> handles_;
    std::size_t used_ = 0;
};

using Call = void (Caller::*)();

struct Setting {
    const char *name;
    std::size_t threads, runtimes;
    Lanes lanes;
};
constexpr Setting settings[] = {
    {"one-thread", 1, 1, Lanes::usual},       {"two-threads", 2, 1, Lanes::usual},
    {"two-runtimes", 2, 2, Lanes::usual},     {"one-thread-1-lane", 1, 1, Lanes::one},
    {"two-threads-1-lane", 2, 1, Lanes::one}, {"two-runtimes-1-lane", 2, 2, Lanes::one},
};

std::vector<std::unique_ptr<Service>> services_of(const Setting &setting) {
    std::vector<std::unique_ptr<Service>> made;
    for (std::size_t i = 0; i < setting.runtimes; ++i)
        made.push_back(std::make_unique<Service>(setting.lanes));
    return made;
}

// `firing` timers in all fire every 100 ms.
template <Call call>
std::vector<double> measure_calls(const Setting &setting, std::size_t firing, double seconds) {
    const auto services = services_of(setting);
    for (const auto &each : services)
        if (firing != 0)
            each->fire_every_100_ms(firing / setting.runtimes, Phases::spread);
    auto fired = [&] {
        std::uint64_t sum = 0;
        for (const auto &each : services)
            sum += each->fired();
        return sum;
    };
    const std::uint64_t fired_before = fired();
    const std::int64_t start = monotonic_ns();
    const Calls calls = make_calls(setting.threads, seconds, [&](std::size_t thread) {
        return [caller = Caller(*services[thread % setting.runtimes], pending_timers / setting.threads,
                                thread)]() mutable { (caller.*call)(); };
    });
    const double fires =
        1e3 * static_cast<double>(fired() - fired_before) / static_cast<double>(monotonic_ns() - start);
    require(firing != 0 || fires == 0, "a timer fired that is not due");
    return {calls.millions_a_second, calls.cpu_ns, fires};
}

template <Call call> Comparison calls(const char *name, const char *meaning, std::size_t firing) {
    Comparison made;
    made.name = name;
    made.meaning = meaning;
    made.n = pending_timers;
    made.units = {"M calls/s", "cpu ns/call", "M fires/s"};
    for (const Setting &setting : settings)
        made.variants.push_back({setting.name, [&setting, firing](double seconds) {
                                     return measure_calls<call>(setting, firing, seconds);
                                 }});
    const bool is_target = call == &Caller::stop_and_start;
    made.ratios = {
        {"two threads compared with one", "two-threads", "one-thread", is_target && firing == 0 ? 1.7 : 0},
        {"two threads compared with two runtimes", "two-threads", "two-runtimes",
         !is_target    ? 0
         : firing == 0 ? 0.85
                       : 0.8},
        {"one thread compared with one lane", "one-thread", "one-thread-1-lane",
         is_target && firing == 0 ? 0.95 : 0},
        {"one lane, two threads compared with one", "two-threads-1-lane", "one-thread-1-lane",
         is_target && firing == 0 ? 0.8 : 0},
    };
    return made;
}

// --- keys ----------------------------------------------------------------------------------

constexpr std::size_t keys = 100'000;

// With timers under `count` keys from `first` on. A capacity is that many keys.
class KeyedTable {
  public:
    KeyedTable(const Service &service, bool has_capacity, std::size_t first, std::size_t count)
        : first_(first), count_(static_cast<std::uint32_t>(count)) {
        tw_set_options options = {};
        options.capacity = has_capacity ? count_ : 0;
        require(tw_keyed_new(&keyed_, service.runtime(), &options) == 0, "tw_keyed_new");
        for (std::size_t i = first; i < first + count; ++i)
            set(key_of(i), far_delays()[i % far_delays().size()]);
    }

    // Another thread may have cancelled the timer.
    void cancel_any_and_set(Random &random, std::int64_t delay_ns) {
        const Key key = key_of(first_ + random.below(count_));
        tw_keyed_cancel(keyed_, tw_key_bytes(key.bytes, sizeof key.bytes));
        set(key, delay_ns);
    }

  private:
    void set(const Key &key, std::int64_t delay_ns) {
        require(tw_keyed_after(
                    keyed_, tw_key_bytes(key.bytes, sizeof key.bytes), delay_ns,
                    [](const tw_event *, void *) { require(false, "a timer fired that is not due"); },
                    nullptr) == 0,
                "tw_keyed_after");
    }

    tw_keyed *keyed_ = nullptr;  // freed with the runtime
    std::size_t first_;
    std::uint32_t count_;
};

// make_table(thread) returns the table that the thread uses.
std::vector<double> make_calls_on_keys(std::size_t threads, double seconds, auto make_table) {
    const Calls calls = make_calls(threads, seconds, [&](std::size_t thread) {
        return [table = make_table(thread), random = Random(thread), used = std::size_t{0}]() mutable {
            table->cancel_any_and_set(random, far_delays()[++used % far_delays().size()]);
        };
    });
    return {calls.millions_a_second, calls.cpu_ns};
}

std::vector<double> measure_shared_keys(const Setting &setting, double seconds) {
    const auto services = services_of(setting);
    std::vector<std::shared_ptr<KeyedTable>> tables;
    for (const auto &service : services)
        tables.push_back(std::make_shared<KeyedTable>(*service, false, 0, keys));
    return make_calls_on_keys(setting.threads, seconds,
                              [&](std::size_t thread) { return tables[thread % tables.size()]; });
}

// Each thread has a table with a capacity, for its share of the keys.
std::vector<double> measure_own_keys(const Setting &setting, double seconds) {
    const auto services = services_of(setting);
    const std::size_t count = keys / setting.threads;
    return make_calls_on_keys(setting.threads, seconds, [&](std::size_t thread) {
        return std::make_shared<KeyedTable>(*services[thread % services.size()], true, thread * count, count);
    });
}

template <auto measure> Comparison keyed(const char *name, const char *meaning) {
    Comparison made;
    made.name = name;
    made.meaning = meaning;
    made.n = keys;
    made.units = {"M calls/s", "cpu ns/call"};
    for (const Setting &setting : settings)
        made.variants.push_back(
            {setting.name, [&setting](double seconds) { return measure(setting, seconds); }});
    made.ratios = {
        {"two threads compared with one", "two-threads", "one-thread", 1.6},
        {"two threads compared with two runtimes", "two-threads", "two-runtimes"},
        {"one thread compared with one lane", "one-thread", "one-thread-1-lane"},
        {"one lane, two threads compared with one", "two-threads-1-lane", "one-thread-1-lane"},
    };
    return made;
}

}  // namespace

std::vector<Comparison> call_comparisons() {
    constexpr std::size_t none = 0;
    return {
        calls<&Caller::stop_and_start>("stop-start", "cancel a random one of n timers and start another",
                                       none),
        calls<&Caller::again>("again", "restart a random one of n timers", none),
        calls<&Caller::move>("move", "move a random one of n timers", none),
        calls<&Caller::stop_and_start>(
            "stop-start-firing",
            "cancel a random one of n timers and start another, while a million timers a second are due",
            firing_timers),
        calls<&Caller::again>("again-firing",
                              "restart a random one of n timers, while a million timers a second are due",
                              firing_timers),
        calls<&Caller::move>("move-firing",
                             "move a random one of n timers, while a million timers a second are due",
                             firing_timers),
        keyed<measure_shared_keys>("keyed",
                                   "cancel the timer of a random one of n keys of 16 bytes and set another"),
        keyed<measure_own_keys>(
            "keyed-own",
            "the same for keys, each thread with a share of them in a table of its own, with a capacity"),
    };
}

}  // namespace bench::scaling
