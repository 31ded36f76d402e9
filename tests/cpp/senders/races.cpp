// Operations that are started, stopped, due and destroyed at the same time, by several threads. The
// sanitizers find errors that no assertion does.
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "../support.hpp"
#include "receivers.hpp"
#include "support/random.h"

namespace {

using std::chrono::microseconds;
using tickwheel::runtime;
using tickwheel::runtime_options;
using tickwheel::scheduler;
using timer_sender = scheduler<std::chrono::steady_clock>::sender;

constexpr int rounds = 1000;
constexpr int threads = 4;

void pass(microseconds length) {  // without yielding the processor
    const auto end = std::chrono::steady_clock::now() + length;
    while (std::chrono::steady_clock::now() < end) {
    }
}

template <class F> void on_each_thread(F f) {
    std::vector<std::jthread> all;
    for (int i = 0; i < threads; ++i)
        all.emplace_back(f, static_cast<std::uint64_t>(i));
}

struct counts {
    std::atomic<int> values{0}, stops{0};
    int ended() const { return values + stops; }
};

// An operation that destroys itself in its completion, and a source to stop it, which lives until both the
// completion and the stop are done with it.
class flight : public std::enable_shared_from_this<flight> {
  public:
    explicit flight(counts &seen) : seen_(seen) {}

    void start(timer_sender from) {
        auto begun = std::make_unique<any_operation>(
            std::move(from), receiver{landing{shared_from_this()}, source.get_token()});
        any_operation &begins = *begun;
        operation_ = std::move(begun);
        begins.start();
    }
    stdexec::inplace_stop_source source;
    std::function<void()> then;  // called by the completion

  private:
    struct landing {
        std::shared_ptr<flight> of;
        void operator()(bool stopped) noexcept {
            const std::shared_ptr<flight> self = std::move(of);
            self->operation_.reset();
            if (self->then)
                self->then();
            ++(stopped ? self->seen_.stops : self->seen_.values);
        }
    };
    using receiver = ends<landing>;
    using any_operation = operation<timer_sender, receiver>;

    counts &seen_;
    std::unique_ptr<any_operation> operation_;
};

class SenderRaces : public testing::Test {
  protected:
    counts seen;  // outlives the runtime
    runtime rt{runtime_options{.tick = 1us}};
    scheduler<std::chrono::steady_clock> timers{rt};

    static microseconds moment(std::uint64_t &seed) { return microseconds(random_below(&seed, 100)); }
    void expect_each_ended_once(int started) {
        EXPECT_TRUE(eventually([&] { return seen.ended() >= started; }));
        EXPECT_EQ(seen.ended(), started);
        EXPECT_EQ(tw_runtime_count(rt.native()), 0U);
    }
};

TEST_F(SenderRaces, StopsAgainstDeadlines) {
    on_each_thread([&](std::uint64_t seed) {
        for (int i = 0; i < rounds; ++i) {
            const auto one = std::make_shared<flight>(seen);
            one->start(timers.schedule_after(moment(seed)));
            pass(moment(seed));
            one->source.request_stop();
        }
    });
    expect_each_ended_once(threads * rounds);
    EXPECT_GT(seen.values, 0);
    EXPECT_GT(seen.stops, 0);
}

TEST_F(SenderRaces, StopsAgainstStarts) {
    std::uint64_t seed = 1;
    for (int i = 0; i < rounds; ++i) {
        const auto one = std::make_shared<flight>(seen);
        std::atomic<bool> ready{false};
        const std::jthread stopper([&, length = moment(seed) / 20] {
            ready = true;
            pass(length);
            one->source.request_stop();
        });
        while (!ready)
            std::this_thread::yield();
        if (i % 2 == 0)
            one->start(timers.schedule_after(1h));  // nothing but the stop can end it
        else
            one->start(timers.schedule_after(moment(seed) / 20));
    }
    expect_each_ended_once(rounds);
    EXPECT_GE(seen.stops, rounds / 2);
}

TEST_F(SenderRaces, DeadlinesAgainstStarts) {
    on_each_thread([&](std::uint64_t) {
        for (int i = 0; i < rounds; ++i)
            std::make_shared<flight>(seen)->start(timers.schedule());
    });
    expect_each_ended_once(threads * rounds);
    EXPECT_EQ(seen.stops, 0);
}

TEST_F(SenderRaces, OneStopAgainstAThousandDeadlines) {
    stdexec::inplace_stop_source stop;
    const auto count = [this](bool stopped) { ++(stopped ? seen.stops : seen.values); };
    using receiver = ends<decltype(count)>;
    std::vector<std::unique_ptr<operation<timer_sender, receiver>>> all;
    for (int i = 0; i < rounds; ++i) {
        const auto delay = i % 2 == 0 ? microseconds(500 + i) : microseconds(1h);
        all.push_back(std::make_unique<operation<timer_sender, receiver>>(timers.schedule_after(delay),
                                                                          receiver{count, stop.get_token()}));
        all.back()->start();
    }
    pass(500us);
    on_each_thread([&](std::uint64_t) { stop.request_stop(); });
    expect_each_ended_once(rounds);
    EXPECT_GE(seen.stops, rounds / 2);
}

// Each completion, on the runtime's thread or in a stop, stops the next operation.
TEST_F(SenderRaces, CompletionsThatStopOthers) {
    on_each_thread([&](std::uint64_t seed) {
        for (int i = 0; i < rounds; ++i) {
            const auto first = std::make_shared<flight>(seen), second = std::make_shared<flight>(seen);
            first->then = [second] { second->source.request_stop(); };
            second->start(timers.schedule_after(moment(seed)));
            first->start(timers.schedule_after(moment(seed)));
            pass(moment(seed));
            first->source.request_stop();
        }
    });
    expect_each_ended_once(2 * threads * rounds);
    EXPECT_GT(seen.values, 0);
    EXPECT_GT(seen.stops, 0);
}

TEST_F(SenderRaces, TheEndOfTheRuntimeAgainstDeadlines) {
    for (int i = 0; i < rounds / 10; ++i) {
        std::optional<runtime> ending(runtime_options{.tick = 1us});
        scheduler on(*ending);
        const int before = seen.values;
        std::make_shared<flight>(seen)->start(on.schedule_after(1h));
        for (int j = 0; j < 20; ++j)
            std::make_shared<flight>(seen)->start(on.schedule_after(microseconds(10 * j)));
        ASSERT_TRUE(eventually([&] { return seen.values > before; }));  // the thread has begun
        ending.reset();
        ASSERT_EQ(seen.ended(), 21 * (i + 1));
    }
    EXPECT_GE(seen.stops, rounds / 10);
}

TEST_F(SenderRaces, Timeouts) {
    std::atomic<int> in_time{0};
    on_each_thread([&](std::uint64_t seed) {
        for (int i = 0; i < rounds / 10; ++i) {
            const auto [reply] =
                stdexec::sync_wait(
                    exec::when_any(timers.schedule_after(moment(seed)) | stdexec::then([] { return 1; }),
                                   timers.schedule_after(moment(seed)) | stdexec::then([] { return 0; })))
                    .value();
            in_time += reply;
        }
    });
    EXPECT_GT(in_time, 0);
    EXPECT_LT(in_time, threads * rounds / 10);
    EXPECT_EQ(tw_runtime_count(rt.native()), 0U);
}

TEST_F(SenderRaces, ValuesComeOnTheRuntimesThreadAndAreNeverEarly) {
    std::thread::id runs;
    gate known;
    rt.spawn(0s, [&] {
        runs = thread_here();
        known.open();
    });
    ASSERT_TRUE(known.wait());
    for (int i = 0; i < 20; ++i) {
        const auto delay = microseconds(50 * i);
        const auto begin = timers.now();
        const auto [seen_there] = stdexec::sync_wait(timers.schedule_after(delay) | stdexec::then([&] {
                                                         return std::pair(thread_here(), timers.now());
                                                     }))
                                      .value();
        const auto &[on, at] = seen_there;
        EXPECT_EQ(on, runs);
        EXPECT_GE(at, begin + delay);
    }
}

}  // namespace
