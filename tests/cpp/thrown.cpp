// Exceptions from callbacks of the C interface, directly or through a test macro, while the
// program drives the runtime: an exception reaches the caller of the driving call, and the library treats it
// as the callback's return.
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include <tickwheel/keyed.h>
#include <tickwheel/observe.h>
#include <tickwheel/timers.h>
#include <tickwheel/workers.h>

#include "support.hpp"

namespace {

struct thrown {};

void throw_it(tw_node *, void *) { throw thrown(); }
void throw_in_fire(const tw_event *, void *) { throw thrown(); }
void count_drop(void *count) { ++*static_cast<int *>(count); }

template <class What> bool throws(What what) {
    try {
        what();
    } catch (const thrown &) {
        return true;
    }
    return false;
}

// Appends its name to a log when it fires.
struct named {
    tw_node node = {};
    char name;
    std::string *log;

    named(char is, std::string &to) : name(is), log(&to) { tw_node_init(&node, note, this); }
    static void note(tw_node *, void *self) {
        auto &fired = *static_cast<named *>(self);
        fired.log->push_back(fired.name);
    }
};

class Thrown : public testing::Test {
  protected:
    tw_runtime *rt = make("manual");
    tw_node thrower = {};
    std::string log;

    static tw_runtime *make(const char *driver) {
        tw_runtime_options options = {};
        options.driver = driver;
        tw_runtime *made = nullptr;
        EXPECT_EQ(tw_runtime_new(&made, &options), 0);
        return made;
    }
    Thrown() { tw_node_init(&thrower, throw_it, nullptr); }
    ~Thrown() override { tw_runtime_free(rt); }

    bool advance_throws(std::int64_t by = TW_SECOND) {
        return throws([=, this] { tw_runtime_advance(rt, by); });
    }
    void expect_to_go_on() {
        named other('!', log);
        log.clear();
        EXPECT_EQ(tw_runtime_due(rt), TW_NO_DEADLINE);
        EXPECT_EQ(tw_runtime_after(rt, &other.node, TW_SECOND), 0);
        EXPECT_EQ(tw_runtime_advance(rt, TW_SECOND), 0);
        EXPECT_EQ(log, "!");
    }
};

TEST_F(Thrown, InAdvancePassesAndTheNextOneGoesOnBehindIt) {
    named a('a', log), b('b', log), c('c', log);
    tw_runtime_after(rt, &a.node, TW_SECOND);
    tw_runtime_after(rt, &thrower, TW_SECOND);
    tw_runtime_after(rt, &b.node, TW_SECOND);
    tw_runtime_after(rt, &c.node, 2 * TW_SECOND);
    EXPECT_TRUE(advance_throws());
    EXPECT_EQ(log, "a");
    EXPECT_EQ(tw_runtime_count(rt), 2U);
    EXPECT_EQ(tw_runtime_advance(rt, TW_SECOND), 0);
    EXPECT_EQ(log, "abc");
    expect_to_go_on();
}

TEST_F(Thrown, ByAPeriodicTimerDoesNotEndIt) {
    tw_keyed *timers = nullptr;
    ASSERT_EQ(tw_keyed_new(&timers, rt, nullptr), 0);
    tw_runtime_every(rt, &thrower, TW_SECOND, TW_BURST);
    for (int i = 0; i < 3; ++i)
        EXPECT_TRUE(throws([this] { tw_runtime_leap(rt, TW_SECOND); }));
    EXPECT_EQ(tw_runtime_cancel(rt, &thrower), 1);
    ASSERT_EQ(tw_keyed_every(timers, tw_key_number(7), TW_SECOND, TW_BURST, throw_in_fire, nullptr), 0);
    for (int i = 0; i < 3; ++i)
        EXPECT_TRUE(advance_throws());
    EXPECT_EQ(tw_keyed_cancel_wait(timers, tw_key_number(7)), 1);
    expect_to_go_on();
}

// A timer of a set that is due after `delay` and counts its drop.
tw_handle start(tw_timers *timers, std::int64_t delay, tw_task_callback *fn, int &drops) {
    tw_handle id = TW_NO_HANDLE;
    tw_task task = {};
    tw_when when = {};
    when.due_ns = delay;
    task.fn = fn;
    task.arg = &drops;
    task.drop = count_drop;
    EXPECT_EQ(tw_timer_start(timers, &id, &when, &task), 0);
    return id;
}

void stop_and_throw(tw_node *, void *rt) {
    tw_runtime_stop(static_cast<tw_runtime *>(rt));
    throw thrown();
}

void free_and_throw(tw_node *, void *rt) {
    tw_runtime_free(static_cast<tw_runtime *>(rt));
    throw thrown();
}

TEST_F(Thrown, AfterStoppingOrFreeingTheRuntimePasses) {
    int drops = 0;
    tw_timers *timers = nullptr;
    ASSERT_EQ(tw_timers_new(&timers, rt, nullptr), 0);
    start(
        timers, 5 * TW_SECOND, [](const tw_event *, void *) {}, drops);
    tw_node_init(&thrower, stop_and_throw, rt);
    tw_runtime_after(rt, &thrower, TW_SECOND);
    EXPECT_TRUE(advance_throws());
    EXPECT_EQ(drops, 0);
    tw_node_init(&thrower, free_and_throw, rt);
    tw_runtime_after(rt, &thrower, TW_SECOND);
    EXPECT_TRUE(advance_throws());
    EXPECT_EQ(drops, 1);
    rt = nullptr;
}

TEST_F(Thrown, ByAHandlesOnlyFireEndsItAndItsArgumentIsDropped) {
    int drops = 0;
    tw_timers *timers = nullptr;
    ASSERT_EQ(tw_timers_new(&timers, rt, nullptr), 0);
    const tw_handle id = start(timers, TW_SECOND, throw_in_fire, drops);
    EXPECT_TRUE(advance_throws());
    EXPECT_EQ(drops, 1);
    EXPECT_EQ(tw_timers_count(timers), 0U);
    EXPECT_EQ(tw_timer_cancel_wait(timers, id), -ESTALE);
    expect_to_go_on();
}

// After the callback has thrown, the library calls `drop` or `next` to end the fire, and that function frees
// the runtime.
TEST_F(Thrown, ByAHandleWhoseDropOrNextFreesTheRuntimePasses) {
    for (const bool from_next : {false, true}) {
        tw_runtime *const freed = make("manual");
        tw_timers *timers = nullptr;
        ASSERT_EQ(tw_timers_new(&timers, freed, nullptr), 0);
        tw_handle id = TW_NO_HANDLE;
        tw_task task = {};
        task.fn = throw_in_fire;
        task.arg = freed;
        if (from_next)
            task.next = [](std::int64_t due, void *runtime) -> std::int64_t {
                if (due != 0)
                    tw_runtime_free(static_cast<tw_runtime *>(runtime));
                return TW_SECOND;
            };
        else
            task.drop = [](void *runtime) { tw_runtime_free(static_cast<tw_runtime *>(runtime)); };
        tw_when when = {};
        when.due_ns = TW_SECOND;
        ASSERT_EQ(tw_timer_start(timers, &id, from_next ? nullptr : &when, &task), 0);
        EXPECT_TRUE(throws([=] { tw_runtime_advance(freed, TW_SECOND); }));
    }
}

TEST_F(Thrown, LeavesTheThreadsCancellationAsItWas) {
    tw_runtime_after(rt, &thrower, TW_SECOND);
    EXPECT_TRUE(advance_throws());
    int before = -1;
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &before);
    EXPECT_EQ(before, PTHREAD_CANCEL_ENABLE);
}

// --- workers -----------------------------------------------------------------------------------

// A first run holds the only worker, and the queue has no room, so later fires run inline, on the driving
// thread.
class ThrownInPlace : public Thrown {
  protected:
    tw_workers *pool = nullptr;
    tw_work holding = {}, waiting = {}, throwing = {};
    std::atomic<bool> held{false}, open{false};

    ThrownInPlace() {
        tw_workers_options options = {};
        options.threads = 1;
        options.queue = 1;
        EXPECT_EQ(tw_workers_new(&pool, rt, &options), 0);
        tw_work_init(&holding, pool, hold, this, 0);
        tw_runtime_after(rt, &holding.node, 0);
        tw_runtime_advance(rt, 0);
        EXPECT_TRUE(eventually([this] { return held.load(); }));
    }
    ~ThrownInPlace() override { open = true; }

    static void hold(tw_node *, void *self) {
        auto &fixture = *static_cast<ThrownInPlace *>(self);
        fixture.held = true;
        while (!fixture.open)
            std::this_thread::yield();
    }
    void expect_workers_to_go_on() {
        open = true;
        EXPECT_EQ(tw_workers_wait(pool), 0);
        tw_worker_stats stats;
        EXPECT_EQ(tw_workers_stats(pool, &stats), 0);
        EXPECT_EQ(stats.waiting, 0U);
        EXPECT_EQ(stats.running, 0U);
        expect_to_go_on();
        EXPECT_EQ(tw_workers_free(pool), 0);
    }
};

TEST_F(ThrownInPlace, OfAWorkerPasses) {
    named other('o', log);
    tw_work_init(&throwing, pool, throw_it, nullptr, 0);
    tw_work_init(&waiting, pool, other.node.fn, &other, 0);
    tw_runtime_after(rt, &throwing.node, 0);
    tw_runtime_after(rt, &waiting.node, 0);
    EXPECT_TRUE(advance_throws(0));
    EXPECT_EQ(tw_runtime_cancel_wait(rt, &throwing.node), 0);
    tw_worker_stats stats;
    EXPECT_EQ(tw_workers_stats(pool, &stats), 0);
    EXPECT_EQ(stats.runs, 1U);
    EXPECT_EQ(stats.inlined, 1U);
    tw_stats counted;
    EXPECT_EQ(tw_runtime_stats(rt, &counted), 0);
    std::uint64_t callbacks = 0;
    for (const std::uint64_t count : counted.callbacks.counts)
        callbacks += count;
    EXPECT_EQ(callbacks, 1U);
    expect_workers_to_go_on();
}

TEST_F(ThrownInPlace, OfAWorkerByAHandlePassesAndItIsDropped) {
    int drops = 0;
    tw_timers *timers = nullptr;
    tw_set_options options = {};
    options.workers = pool;
    ASSERT_EQ(tw_timers_new(&timers, rt, &options), 0);
    const tw_handle id = start(timers, 0, throw_in_fire, drops);
    start(
        timers, 0, [](const tw_event *, void *) {}, drops);
    EXPECT_TRUE(advance_throws(0));
    EXPECT_EQ(drops, 1);
    EXPECT_EQ(tw_timer_cancel_wait(timers, id), -ESTALE);
    open = true;
    EXPECT_EQ(tw_timers_free(timers), 0);
    EXPECT_EQ(drops, 2);
    expect_workers_to_go_on();
}

// Runs twice. The first run, inline, releases the held worker, and throws when the worker is idle.
struct in_place_once {
    std::atomic<bool> &open;
    tw_workers *pool;
    bool has_thrown = false;

    static void run(tw_node *, void *self) {
        auto &once = *static_cast<in_place_once *>(self);
        once.open = true;
        EXPECT_TRUE(eventually([&once] {
            tw_worker_stats stats;
            return tw_workers_stats(once.pool, &stats) == 0 && stats.running == 1;
        }));
        if (!std::exchange(once.has_thrown, true))
            throw thrown();
    }
};

TEST_F(ThrownInPlace, LeavesTheNextFireToAWorkerThatIsIdleByThen) {
    in_place_once once = {open, pool};
    tw_work_init(&throwing, pool, in_place_once::run, &once, 0);
    tw_runtime_after(rt, &throwing.node, 0);
    tw_runtime_advance(rt, 0);
    tw_runtime_after(rt, &throwing.node, 0);
    EXPECT_TRUE(advance_throws(0));
    EXPECT_EQ(tw_workers_wait(pool), 0);
    tw_worker_stats stats;
    EXPECT_EQ(tw_workers_stats(pool, &stats), 0);
    EXPECT_EQ(stats.runs, 3U);
    EXPECT_EQ(stats.discarded, 0U);
    EXPECT_EQ(tw_workers_free(pool), 0);  // although the call that threw has not settled the pool
    expect_to_go_on();
}

// --- other ways ------------------------------------------------------------------------------------

bool is_readable(int fd) {
    pollfd readable = {fd, POLLIN, 0};
    return poll(&readable, 1, 60000) == 1;
}

TEST_F(Thrown, InDispatchPassesAndTheDescriptorRingsForTheRest) {
    tw_runtime *const own = make("timerfd");
    named b('b', log);
    const int fd = tw_runtime_fd(own);
    ASSERT_GE(fd, 0);
    tw_runtime_after(own, &thrower, 0);
    tw_runtime_after(own, &b.node, TW_MILLISECOND);
    bool has_thrown = false;
    while (!has_thrown) {
        ASSERT_TRUE(is_readable(fd));
        has_thrown = throws([own] { tw_runtime_dispatch(own); });
    }
    while (log.empty()) {
        ASSERT_TRUE(is_readable(fd));
        ASSERT_EQ(tw_runtime_dispatch(own), 0);
    }
    EXPECT_EQ(log, "b");
    tw_runtime_free(own);
}

// A callback of one runtime drives another runtime and catches the exceptions of its callbacks.
struct driver_of_another {
    tw_runtime *outer, *inner;
    bool caught = false;
    std::int64_t due_after = -1;

    static void drive(tw_node *, void *self) {
        auto &driver = *static_cast<driver_of_another *>(self);
        driver.caught = throws([&] { tw_runtime_advance(driver.inner, TW_SECOND); });
        driver.due_after = tw_runtime_due(driver.outer);
    }
};

TEST_F(Thrown, InsideACallbackOfAnotherRuntimeIsOverWhereItIsCaught) {
    driver_of_another drives = {rt, make("manual")};
    tw_node outer;
    tw_node_init(&outer, driver_of_another::drive, &drives);
    tw_runtime_after(drives.inner, &thrower, TW_SECOND);
    tw_runtime_after(rt, &outer, 5 * TW_SECOND);
    EXPECT_EQ(tw_runtime_advance(rt, 5 * TW_SECOND), 0);
    EXPECT_TRUE(drives.caught);
    EXPECT_EQ(drives.due_after, 5 * TW_SECOND);
    EXPECT_EQ(tw_runtime_advance(drives.inner, TW_SECOND), 0);
    tw_runtime_free(drives.inner);
    expect_to_go_on();
}

TEST_F(Thrown, CountsAsAFireLikeAnyOther) {
    tw_label_counts counts;
    tw_stats observed;
    for (int i = 0; i < 10; ++i) {
        tw_runtime_after(rt, &thrower, TW_SECOND);
        EXPECT_TRUE(advance_throws());
    }
    EXPECT_EQ(tw_runtime_labels(rt, &counts, 1), 1);
    EXPECT_EQ(counts.fires, 10U);
    EXPECT_EQ(tw_runtime_stats(rt, &observed), 0);
    EXPECT_EQ(observed.late[TW_LATE_WAKING].counts[0], 10U);
    expect_to_go_on();
}

// Another thread waits for the callback that throws.
struct waited_for {
    std::atomic<bool> runs{false}, goes_on{false};

    static void run(tw_node *, void *self) {
        auto &callback = *static_cast<waited_for *>(self);
        callback.runs = true;
        while (!callback.goes_on)
            std::this_thread::yield();
        throw thrown();
    }
};

TEST_F(Thrown, EndsTheWaitOfWhoCancels) {
    waited_for awaited;
    tw_node_init(&thrower, waited_for::run, &awaited);
    tw_runtime_after(rt, &thrower, 0);
    std::thread canceller([&] {
        EXPECT_TRUE(eventually([&] { return awaited.runs.load(); }));
        std::thread opener([&] { awaited.goes_on = true; });
        EXPECT_EQ(tw_runtime_cancel_wait(rt, &thrower), 0);
        opener.join();
    });
    EXPECT_TRUE(advance_throws(0));
    canceller.join();
    expect_to_go_on();
}

// The callback of a descriptor is over when its exception has left it: a removal on another thread must not
// wait for it.
TEST(ThrownByAWatch, IsOverForTheThreadThatRemovesIt) {
    tw_runtime_options options = {};
    options.driver = "epoll";
    tw_runtime *rt = nullptr;
    ASSERT_EQ(tw_runtime_new(&rt, &options), 0);
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const auto fail = [](int, std::uint32_t, void *) { throw thrown(); };
    ASSERT_EQ(tw_runtime_watch(rt, ends[0], EPOLLIN, fail, nullptr), 0);
    ASSERT_EQ(write(ends[1], "!", 1), 1);
    EXPECT_TRUE(throws([rt] { tw_runtime_run(rt); }));
    std::thread([&] { EXPECT_EQ(tw_runtime_unwatch(rt, ends[0]), 0); }).join();
    EXPECT_EQ(tw_runtime_free(rt), 0);
    close(ends[0]);
    close(ends[1]);
}

// On a bare wheel, the exception leaves between two fires.
TEST(ThrownOnAWheel, LeavesBetweenTwoFiresThatAreTaken) {
    std::string log;
    named b('b', log);
    tw wheel;
    tw_node thrower;
    tw_init(&wheel, 0, 0);
    tw_node_init(&thrower, throw_it, nullptr);
    tw_arm_at(&wheel, &thrower, 1);
    tw_arm_at(&wheel, &b.node, 1);
    const auto turn = [&] {
        for (tw_fire fire; tw_take(&wheel, 1, &fire) == 1;)
            fire.fn(fire.node, fire.arg);
    };
    EXPECT_TRUE(throws(turn));
    EXPECT_EQ(tw_check(&wheel, nullptr, nullptr), 0);
    turn();
    EXPECT_EQ(log, "b");
}

}  // namespace
