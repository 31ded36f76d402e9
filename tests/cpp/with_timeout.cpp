// Work under a deadline, on virtual time, in one thread: random programs compared with an oracle, and cases
// for the paths that random programs do not reach.
#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <sstream>
#include <stop_token>
#include <string>
#include <system_error>
#include <type_traits>
#include <vector>

#include "support.hpp"
#include "support/environment.h"
#include "tasks.hpp"

namespace {

using std::chrono::nanoseconds;
using tickwheel::runtime;
using tickwheel::virtual_runtime;

class WithTimeout : public testing::Test {
  protected:
    virtual_runtime rt;
    std::vector<std::string> heard;
    int gone = 0;  // locals of coroutines that have ended or were destroyed

    void hear(const std::string &what) {
        const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(rt.now().time_since_epoch());
        heard.push_back(std::to_string(ms.count()) + " " + what);
    }
    using lines = std::vector<std::string>;

    // The work: sleeps, unless told to stop.
    lazy<int> answer(nanoseconds length, std::stop_token stop) {
        const farewell local(gone);
        const bool slept = co_await rt.sleep_for(length, stop);
        hear(slept ? "worked" : "stopped");
        co_return 42;
    }
    lazy<void> toil(nanoseconds length, std::stop_token stop) {
        const farewell local(gone);
        const bool slept = co_await rt.sleep_for(length, stop);
        hear(slept ? "worked" : "stopped");
    }
    lazy<int> fail(nanoseconds length, std::stop_token stop, std::errc code) {
        const farewell local(gone);
        co_await rt.sleep_for(length, stop);
        throw std::system_error(std::make_error_code(code));
    }

    job ask(nanoseconds limit, nanoseconds length, std::stop_token token = {}) {
        const farewell local(gone);
        const auto result = co_await rt.with_timeout(
            limit, [&](std::stop_token stop) { return answer(length, stop); }, token);
        hear(result ? std::to_string(*result) : "time is up");
    }
    job ask_failing(nanoseconds limit, nanoseconds length, std::errc code) {
        const auto result =
            co_await rt.with_timeout(limit, [&](std::stop_token stop) { return fail(length, stop, code); });
        hear(result ? std::to_string(*result) : "time is up");
    }
    void expect_nothing_left() { EXPECT_EQ(tw_runtime_count(rt.native()), 0U); }
};

TEST_F(WithTimeout, HasDeadlinesAtMoments) {
    const auto until = [&](runtime::time_point moment) -> job {
        const bool done =
            co_await rt.with_deadline(moment, [&](std::stop_token stop) { return toil(50ms, stop); });
        hear(done ? "done" : "time is up");
    };
    rt.advance(1s);
    const job past = until(rt.now() - 1s);
    const job soon = until(rt.now() + 49ms);
    const job later = until(rt.now() + 51ms);
    rt.advance(1s);
    EXPECT_EQ(heard, (lines{"1000 stopped", "1000 time is up", "1049 stopped", "1049 time is up",
                            "1050 worked", "1050 done"}));
    expect_nothing_left();
}

TEST_F(WithTimeout, WaitsForWorkThatDoesNotLookAtItsToken) {
    const auto stubborn = [&]() -> job {
        const bool done = co_await rt.with_timeout(10ms, [&](std::stop_token) { return toil(1s, {}); });
        hear(done ? "done" : "time is up");
    };
    const job j = stubborn();
    rt.advance(2s);
    EXPECT_EQ(heard, (lines{"1000 worked", "1000 time is up"}));
}

// --- kinds of results

template <class Work>
using result_of = decltype(std::declval<runtime &>().with_timeout(1s, std::declval<Work>()).await_resume());

template <class T> struct ready {
    T value;
    bool await_ready() const { return true; }
    void await_suspend(std::coroutine_handle<>) const { ADD_FAILURE() << "it was ready"; }
    T await_resume() { return static_cast<T>(value); }
};
template <class T> using giving = ready<T> (*)(std::stop_token);
static_assert(std::is_same_v<result_of<giving<int>>, std::optional<int>>);
static_assert(std::is_same_v<result_of<giving<bool>>, std::optional<bool>>);
static_assert(std::is_same_v<result_of<giving<int &>>, std::optional<std::reference_wrapper<int>>>);
static_assert(std::is_same_v<result_of<giving<int &&>>, std::optional<int>>);
static_assert(std::is_same_v<result_of<giving<std::optional<int>>>, std::optional<std::optional<int>>>);
static_assert(std::is_same_v<result_of<lazy<void> (*)(std::stop_token)>, bool>);

template <class Work>
concept can_be_timed = requires(runtime &rt, Work work) {
    rt.with_timeout(1s, std::move(work));
};
static_assert(can_be_timed<giving<int>>);
static_assert(!can_be_timed<ready<int> (*)()>);  // work without a token would not notice the deadline
static_assert(!can_be_timed<ready<int>>);
static_assert(!can_be_timed<int (*)(std::stop_token)>);
static_assert(!can_be_timed<void (*)(std::stop_token)>);

TEST_F(WithTimeout, TakesNoTimerForWorkThatIsReady) {
    std::size_t armed = 99;
    int number = 1;
    const auto ask_ready = [&]() -> job {
        const auto value = co_await rt.with_timeout(0s, [](std::stop_token) { return ready<int>{7}; });
        const auto reference =
            co_await rt.with_timeout(0s, [&](std::stop_token) { return ready<int &>{number}; });
        const auto empty =
            co_await rt.with_timeout(0s, [](std::stop_token) { return ready<std::optional<int>>{}; });
        armed = tw_runtime_count(rt.native());
        EXPECT_EQ(value, 7);
        EXPECT_EQ(&reference->get(), &number);
        EXPECT_TRUE(empty.has_value() && !empty->has_value());
    };
    const job j = ask_ready();
    EXPECT_TRUE(j.done());
    EXPECT_EQ(armed, 0U);
}

TEST_F(WithTimeout, AwaitsWorkThatEndsWhileItIsBegun) {
    const auto at_once = [](std::stop_token) -> lazy<int> { co_return 7; };
    const auto ask_at_once = [&]() -> job {
        const auto result = co_await rt.with_timeout(0s, at_once);
        hear(std::to_string(result.value_or(0)));
    };
    const job j = ask_at_once();
    EXPECT_EQ(heard, lines{"0 7"});
    expect_nothing_left();
}

TEST_F(WithTimeout, MovesWhatCanOnlyBeMoved) {
    const auto make = [&](nanoseconds length, std::stop_token stop) -> lazy<std::unique_ptr<farewell>> {
        co_await rt.sleep_for(length, stop);
        co_return std::make_unique<farewell>(gone);
    };
    std::unique_ptr<farewell> kept;
    const auto fetch = [&](nanoseconds limit) -> job {
        auto result = co_await rt.with_timeout(limit, [&](std::stop_token stop) { return make(50ms, stop); });
        if (result)
            kept = *std::move(result);
    };
    const job in_time = fetch(60ms);
    rt.advance(1s);
    EXPECT_TRUE(kept);
    EXPECT_EQ(gone, 0);
    const job late = fetch(40ms);
    rt.advance(1s);
    EXPECT_EQ(gone, 1);  // the late result was destroyed
}

// A lambda that is a coroutine: its captures must live as long as it runs.
TEST_F(WithTimeout, KeepsTheCallableWhileTheWorkGoesOn) {
    std::string seen;
    const auto ask_lambda = [&]() -> job {
        // Needs a name because of g++ 12: see with_timeout.hpp.
        auto work = [this, &seen, text = std::string(100, 'x')](std::stop_token stop) -> lazy<void> {
            co_await rt.sleep_for(10ms, stop);
            seen = text;
        };
        co_await rt.with_timeout(1s, std::move(work));
    };
    const job j = ask_lambda();
    rt.advance(1s);
    EXPECT_EQ(seen, std::string(100, 'x'));
}

// --- exceptions

TEST_F(WithTimeout, TakesACancellationForTheEndOfStoppedWork) {
    const job j = ask_failing(50ms, 100ms, std::errc::operation_canceled);
    rt.advance(1s);
    EXPECT_EQ(j.error(), std::error_code());
    EXPECT_EQ(heard, lines{"50 time is up"});
}

TEST_F(WithTimeout, PassesOnACancellationThatItHasNotAskedFor) {
    const job j = ask_failing(100ms, 50ms, std::errc::operation_canceled);
    rt.advance(1s);
    EXPECT_EQ(j.error(), std::errc::operation_canceled);
}

TEST_F(WithTimeout, ThrowsWhatTheCallableThrows) {
    const auto ask_throwing_call = [&]() -> job {
        co_await rt.with_timeout(1s, [this](std::stop_token stop) {
            if (rt.now() == runtime::time_point())
                throw std::system_error(std::make_error_code(std::errc::broken_pipe));
            return rt.sleep_for(1s, stop);
        });
    };
    const job j = ask_throwing_call();
    EXPECT_EQ(j.error(), std::errc::broken_pipe);
    expect_nothing_left();
}

TEST_F(WithTimeout, RefusesATimeThatIsNone) {
    const auto work = [](std::stop_token) { return ready<int>{7}; };
    EXPECT_EQ(error_of([&] { static_cast<void>(rt.with_timeout(-1ns, work)); }), std::errc::invalid_argument);
}

TEST_F(WithTimeout, StopsTheWorkAndThrowsIfThereIsNoRuntime) {
    auto other = std::make_optional<virtual_runtime>();
    auto work = [this](std::stop_token stop) { return answer(1h, stop); };
    auto timed = other->with_timeout(1s, work);
    other.reset();
    const auto await = [](auto &what) -> job { co_await what; };
    const job j = await(timed);
    EXPECT_TRUE(j.done());
    EXPECT_EQ(j.error(), std::errc::invalid_argument);
    EXPECT_EQ(heard, lines{"0 stopped"});
}

// --- stopping from outside

TEST_F(WithTimeout, BeginsStoppedWorkIfTheStopWasThereBefore) {
    std::stop_source source;
    source.request_stop();
    const job j = ask(100ms, 1h, source.get_token());
    EXPECT_EQ(heard, (lines{"0 stopped", "0 42"}));
    expect_nothing_left();
}

// --- awaitables that resume inside request_stop

TEST_F(WithTimeout, MayEndInsideTheDeadlinesCallback) {
    parcel p;
    const auto receive = [&]() -> job {
        const farewell local(gone);
        const auto result =
            co_await rt.with_timeout(10ms, [&](std::stop_token stop) { return p.receive(stop); });
        hear(result ? "received" : "time is up");
    };
    const job j = receive();
    rt.advance(1s);
    EXPECT_EQ(heard, lines{"10 time is up"});
    EXPECT_FALSE(p.bring(1));
    EXPECT_EQ(gone, 1);
}

TEST_F(WithTimeout, MayEndWhereTheWorkEnds) {
    parcel p;
    const auto receive = [&]() -> job {
        const auto result =
            co_await rt.with_timeout(10ms, [&](std::stop_token stop) { return p.receive(stop); });
        hear(result && *result ? std::to_string(**result) : "nothing");
    };
    const job j = receive();
    rt.advance(9ms);
    EXPECT_TRUE(p.bring(5));
    EXPECT_EQ(heard, lines{"9 5"});
    expect_nothing_left();
}

// --- destruction

TEST_F(WithTimeout, IsOverWhenItIsDestroyedAfterTheDeadline) {
    std::optional<job> other;
    const auto destroy_other = [](virtual_runtime &on, std::optional<job> &victim) -> job {
        co_await on.sleep_for(10ms);
        victim.reset();
    };
    other.emplace(ask(10ms, 1h));
    const job killer = destroy_other(rt, other);  // on the same tick, before the stop reaches the work
    rt.advance(2h);
    EXPECT_EQ(gone, 2);
    EXPECT_TRUE(heard.empty());
    expect_nothing_left();
}

TEST_F(WithTimeout, ThatIsNeverAwaitedIsNothing) {
    {
        [[maybe_unused]] auto timed =
            rt.with_timeout(1s, [&](std::stop_token stop) { return answer(1s, stop); });
    }
    expect_nothing_left();
    EXPECT_EQ(gone, 0);  // the lazy coroutine had not begun
}

TEST(WithTimeoutLifetime, ACoroutineMayOutliveTheRuntime) {
    parcel p;
    std::optional<int> got;
    auto rt = std::make_optional<virtual_runtime>();
    const auto receive = [&](virtual_runtime &on) -> job {
        const auto result =
            co_await on.with_timeout(1s, [&](std::stop_token stop) { return p.receive(stop); });
        if (result)
            got = *result;
    };
    const job j = receive(*rt);
    rt.reset();
    EXPECT_TRUE(p.bring(3));
    EXPECT_TRUE(j.done());
    EXPECT_EQ(got, 3);
}

// On a pool, the deadline's callback runs on a worker.
TEST(WithTimeoutOnWorkers, IsStoppedThere) {
    virtual_runtime rt;
    tickwheel::workers pool(rt, {.threads = 1});
    gate over;
    std::optional<bool> done;
    std::thread::id where;
    const auto sleep = [&]() -> job {
        const auto slept =
            co_await pool.with_timeout(10ms, [&](std::stop_token stop) { return pool.sleep_for(1h, stop); });
        done = slept.has_value();
        where = thread_here();
        over.open();
    };
    const job j = sleep();
    rt.advance(10ms);
    pool.wait();
    rt.advance(0s);  // the stopped sleep
    ASSERT_TRUE(over.wait());
    pool.wait();
    EXPECT_EQ(done, false);
    EXPECT_NE(where, std::this_thread::get_id());
}

// --- nested deadlines, sleeping work, stops and destruction in random order, compared with an oracle that
// says what each coroutine returns and when. TW_SEED=... repeats a run.

using std::chrono::milliseconds;

constexpr int depth = 3;
constexpr int longest = 60;  // so short that many things meet on one tick

// How one coroutine ended. `level` is that of the deadline that passed; the outermost has level 0.
struct ending {
    enum how { worked, stopped, failed, timed_out } how;
    int level;
    int at;
    bool operator==(const ending &) const = default;
};
std::ostream &operator<<(std::ostream &out, const ending &e) {
    return out << "how " << e.how << ", level " << e.level << ", at " << e.at;
}

// What a coroutine does, in milliseconds from the start.
struct plan {
    std::array<int, depth> limits;
    int work;
    bool throws;    // at the end of its work
    int stop;       // when the test requests a stop; never, if after `longest`
    int destroyed;  // likewise

    // The test stops or destroys when the tick's timers have fired. If several deadlines fall on one tick,
    // the outermost was armed first; the work's own sleep was armed after all deadlines.
    std::optional<ending> expected() const {
        const auto limit = std::min_element(limits.begin(), limits.end());
        const int end = std::min({*limit, work, stop});
        if (destroyed < end || (destroyed == end && stop == end && *limit > end && work > end))
            return std::nullopt;
        if (*limit == end)
            return throws ? ending{ending::failed, 0, end}
                          : ending{ending::timed_out, static_cast<int>(limit - limits.begin()), end};
        return ending{throws ? ending::failed : work == end ? ending::worked : ending::stopped, 0, end};
    }
};

class world {
  public:
    explicit world(unsigned seed) : random_(seed) {}

    void play() {
        std::vector<std::unique_ptr<life>> lives;
        for (int i = 0; i < 50; ++i) {
            lives.push_back(std::make_unique<life>(make_plan()));
            lives.back()->frame.emplace(run(*lives.back()));
        }
        for (int now = 0; now <= 2 * longest; ++now) {
            rt_.advance(now == 0 ? 0ms : 1ms);
            std::shuffle(lives.begin(), lives.end(), random_);
            for (const auto &each : lives)
                if (each->what.stop == now)
                    each->source.request_stop();
            for (const auto &each : lives)
                if (each->what.destroyed == now)
                    each->frame.reset();
        }
        for (const auto &each : lives) {
            EXPECT_EQ(each->ended, each->what.expected()) << describe(each->what);
            EXPECT_EQ(each->begun, 1);
            each->frame.reset();
            EXPECT_EQ(each->gone, 2) << describe(each->what);  // the outer frame, and the innermost work
        }
        EXPECT_EQ(tw_runtime_count(rt_.native()), 0U);
    }

  private:
    struct life {
        explicit life(const plan &of) : what(of) {}
        const plan what;
        std::stop_source source;
        std::optional<ending> ended;
        int begun = 0, gone = 0;
        std::optional<job> frame;  // destroyed first
    };

    int now() const { return static_cast<int>(rt_.now().time_since_epoch() / 1ms); }
    int pick(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }
    plan make_plan() {
        plan p{};
        for (int &limit : p.limits)
            limit = 1 + pick(longest);
        p.work = 1 + pick(longest);
        p.throws = pick(4) == 0;
        p.stop = pick(2) == 0 ? pick(longest) : 3 * longest;
        p.destroyed = pick(3) == 0 ? pick(longest) : 3 * longest;
        return p;
    }
    static std::string describe(const plan &p) {
        std::ostringstream text;
        for (const int limit : p.limits)
            text << "limit " << limit << ", ";
        text << "work " << p.work << (p.throws ? " throws" : "") << ", stop " << p.stop << ", destroyed "
             << p.destroyed;
        return text.str();
    }

    lazy<bool> work(life &of, std::stop_token stop) {
        const farewell local(of.gone);
        ++of.begun;
        const bool slept = co_await rt_.sleep_for(milliseconds(of.what.work), stop);
        if (of.what.throws)
            throw std::system_error(std::make_error_code(std::errc::io_error));
        co_return slept;
    }

    // Runs each inner deadline in its own coroutine. Returns the level whose deadline passed, or `depth`.
    lazy<int> level(life &of, int number, std::stop_token stop, bool &slept) {
        const milliseconds limit(of.what.limits.at(static_cast<std::size_t>(number)));
        if (number == depth - 1) {
            const auto result = co_await rt_.with_timeout(
                limit, [&](std::stop_token inner) { return work(of, inner); }, stop);
            slept = result.value_or(false);
            co_return result ? depth : number;
        }
        const auto up = co_await rt_.with_timeout(
            limit, [&](std::stop_token inner) { return level(of, number + 1, inner, slept); }, stop);
        co_return up.value_or(number);
    }

    job run(life &of) {
        const farewell local(of.gone);
        bool slept = false;
        try {
            const int up = co_await level(of, 0, of.source.get_token(), slept);
            of.ended = up < depth ? ending{ending::timed_out, up, now()}
                                  : ending{slept ? ending::worked : ending::stopped, 0, now()};
        } catch (const std::system_error &) {
            of.ended = ending{ending::failed, 0, now()};
        }
    }

    virtual_runtime rt_;
    std::minstd_rand random_;
};

TEST(WithTimeoutRandom, EndsAsTheOracleSays) {
    const auto seed = static_cast<unsigned>(seed_of_run());
    for (unsigned i = 0; i < 200 && !testing::Test::HasFailure(); ++i) {
        SCOPED_TRACE("TW_SEED=" + std::to_string(seed + i));
        world(seed + i).play();
    }
}

}  // namespace
