// Two members on real threads, with a store whose calls fail before or after the database has carried them
// out. Puts that claim race with each other, with memberships that resume, and with dispatchers. At the end
// all jobs must have fired.
#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <tickwheel/durable_store.h>

// After those of C++, because CMocka defines `fail`.
#include "memory/memory_store.h"
#include "support/random.h"
#include "support/sanitized.h"
#include "support/test.h"

namespace {

constexpr int putters = 4, rounds = SLOW ? 400 : 2400, most_at_once = 8,
              jobs = putters * rounds * most_at_once;
constexpr const char *address = "memory:threads";

// --- the store -------------------------------------------------------------------------------

std::atomic<bool> has_faults{false};
std::atomic<int> puts_to_break{0};

bool breaks(unsigned one_in) {
    static std::atomic<std::uint64_t> threads{1};
    thread_local std::uint64_t seed = ++threads * 7919;
    return has_faults && random_below(&seed, one_in) == 0;
}

// After most failed calls the membership pauses and reconnects; after a failed put it resumes at once.
template <auto tw_store::*function, unsigned one_in = 500> struct faulty;
template <class... Arguments, int (*tw_store::*function)(void *, Arguments...), unsigned one_in>
struct faulty<function, one_in> {
    static int call(void *connection, Arguments... arguments) {
        if (breaks(one_in))
            return -ENOTCONN;
        const int result = (memory_store.*function)(connection, arguments...);
        return breaks(one_in) ? -ETIMEDOUT : result;
    }
};

int put(void *connection, tw_store_put *puts, std::size_t count, int keep, const tw_store_member *member) {
    const int result = faulty<&tw_store::put, 30>::call(connection, puts, count, keep, member);
    return puts_to_break > 0 && puts_to_break-- > 0 ? -ETIMEDOUT : result;
}

// Also reports many jobs that do not exist, so that the member takes long to compare and puts come in
// between.
int resume(void *connection, tw_store_member *member, const std::int64_t *running, std::size_t count,
           tw_store_visitor *each, void *arg) {
    const int error = faulty<&tw_store::resume>::call(connection, member, running, count, each, arg);
    if (error != 0)
        return error;
    tw_durable_entry entry = {};
    entry.job.kind = entry.job.key = "there is none";
    for (entry.token = -1; entry.token > -20'000; --entry.token)
        if (const int end = each(&entry, arg); end != 0)
            return end;
    return 0;
}

tw_store faulty_store() {
    tw_store all = memory_store;
    all.put = put;
    all.claim = faulty<&tw_store::claim>::call;
    all.start = faulty<&tw_store::start>::call;
    all.settle = faulty<&tw_store::settle>::call;
    all.resume = resume;
    all.renew = faulty<&tw_store::renew>::call;
    return all;
}

// --- what happens to each job ----------------------------------------------------------------

struct job_seen {
    std::atomic<int> fires{0};
};
std::array<job_seen, jobs> seen;

// Threads that answer fires later, some of them before the handler has returned.
class answerers {
  public:
    answerers() {
        for (std::thread &each : threads_)
            each = std::thread([this] { run(); });
    }
    ~answerers() {
        {
            const std::lock_guard hold(mutex_);
            is_over_ = true;
        }
        changed_.notify_all();
        for (std::thread &each : threads_)
            each.join();
    }
    void add(tw_durable *durable, tw_durable_fire *fire) {
        {
            const std::lock_guard hold(mutex_);
            fires_.push_back({durable, fire});
        }
        changed_.notify_one();
    }

  private:
    struct unanswered {
        tw_durable *durable;
        tw_durable_fire *fire;
    };

    void run() {
        std::unique_lock hold(mutex_);
        for (;;) {
            changed_.wait(hold, [this] { return is_over_ || !fires_.empty(); });
            if (fires_.empty())
                return;
            const unanswered next = fires_.back();
            fires_.pop_back();
            hold.unlock();
            assert_int_equal(tw_durable_answer_later(next.durable, next.fire, TW_DURABLE_DONE), 0);
            hold.lock();
        }
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<unanswered> fires_;
    bool is_over_ = false;
    std::thread threads_[2];
};
answerers *answer_later;

tw_durable_answer note(tw_durable_fire *fire, void *member) {
    ++seen[std::stoul(fire->key)].fires;
    if (fire->token % 2 == 0)
        return TW_DURABLE_DONE;
    answer_later->add(*static_cast<tw_durable **>(member), fire);
    return TW_DURABLE_LATER;
}

// Puts a share of the jobs, one or some at a time. Repeats a put that returns an error; its jobs may exist
// already.
void put_share(tw_durable *durable, int first, int how_many) {
    std::uint64_t seed = static_cast<std::uint64_t>(first) + 1;
    for (int next = first; next < first + how_many;) {
        const int count =
            std::min(1 + static_cast<int>(random_below(&seed, most_at_once)), first + how_many - next);
        std::vector<std::string> keys;
        std::vector<tw_durable_job> some(static_cast<std::size_t>(count));
        keys.reserve(static_cast<std::size_t>(count));
        for (int i = 0; i < count; ++i)
            keys.push_back(std::to_string(next + i));
        for (std::size_t i = 0; i < keys.size(); ++i) {
            some[i].kind = "job";
            some[i].key = keys[i].c_str();
            some[i].due_ns = random_below(&seed, 3) == 0
                                 ? 0
                                 : static_cast<std::int64_t>(random_below(&seed, 300)) * TW_MILLISECOND;
        }
        const auto existing = random_below(&seed, 2) == 0 ? TW_DURABLE_REPLACE : TW_DURABLE_KEEP;
        while (tw_durable_put_many(durable, some.data(), some.size(), existing) < 0)
            ;
        next += count;
    }
}

// Waits until count() returns 0, or patience has ended. Returns the last count.
template <class Count> std::int64_t wait_for_none(const Count &count) {
    const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    std::int64_t left;
    while ((left = count()) > 0 && std::chrono::steady_clock::now() < patience)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return left;
}

std::int64_t in_hand(tw_durable *member) {
    tw_durable_counts now = {};
    return tw_durable_stats(member, &now) == 0
               ? static_cast<std::int64_t>(now.held + now.running + now.unsettled)
               : -1;
}

// Two members on one runtime, and a connection that keeps the database.
struct cluster {
    const tw_store store = faulty_store();
    tw_runtime *rt = nullptr;
    tw_durable *keeper = nullptr, *members[2] = {};
    answerers later;
};

void begin(cluster &all) {
    assert_int_equal(tw_runtime_new(&all.rt, nullptr), 0);
    assert_int_equal(tw_runtime_start(all.rt), 0);
    assert_int_equal(open_in_memory(&all.keeper, nullptr, address, {}), 0);
    tw_durable_options options = {};
    options.store = &all.store;
    options.lease_ns = 3 * TW_SECOND;
    options.hold = 16384;
    answer_later = &all.later;
    for (tw_durable *&each : all.members) {
        assert_int_equal(tw_durable_open(&each, all.rt, address, &options), 0);
        assert_int_equal(tw_durable_register(each, "job", note, &each, nullptr), 0);
    }
    for (job_seen &each : seen)
        each.fires = 0;
}

void put_in_threads(cluster &all, int first, int count_of_each) {
    std::vector<std::thread> threads;
    threads.reserve(putters);
    for (int i = 0; i < putters; ++i)
        threads.emplace_back(put_share, all.members[i % 2], first + i * count_of_each, count_of_each);
    for (std::thread &each : threads)
        each.join();
}

void end(cluster &all) {
    for (tw_durable *const each : all.members) {
        assert_int_equal(wait_for_none([&] { return in_hand(each); }), 0);
        assert_int_equal(tw_durable_close(each), 0);
    }
    assert_int_equal(tw_durable_close(all.keeper), 0);
    tw_runtime_free(all.rt);
}

TEST(whatever_breaks_all_that_was_put_fires) {
    cluster all;
    begin(all);
    has_faults = true;
    put_in_threads(all, 0, jobs / putters);
    has_faults = false;
    assert_int_equal(wait_for_none([&] { return tw_durable_count(all.keeper, nullptr); }), 0);
    for (const job_seen &each : seen)
        assert_true(each.fires > 0);
    end(all);
}

// One answer is lost, so that a member resumes while others put. Nothing else fails: another fault would make
// the member resume once more, which would hide a mistake.
TEST(what_is_put_while_a_member_resumes_is_held_by_it_or_by_nobody) {
    constexpr int turns = 20, count_of_each = jobs / putters / turns;
    cluster all;
    begin(all);
    for (int turn = 0; turn < turns; ++turn) {
        puts_to_break = 1;
        put_in_threads(all, turn * putters * count_of_each, count_of_each);
        assert_int_equal(wait_for_none([&] { return tw_durable_count(all.keeper, nullptr); }), 0);
    }
    end(all);
}

// Each time, closes a member whose fires have just got their last answers or still wait for them.
TEST(a_close_waits_for_answers_that_come_later) {
    answerers later;
    answer_later = &later;
    tw_runtime *rt = nullptr;
    tw_durable *keeper = nullptr;
    assert_int_equal(tw_runtime_new(&rt, nullptr), 0);
    assert_int_equal(tw_runtime_start(rt), 0);
    assert_int_equal(open_in_memory(&keeper, nullptr, address, {}), 0);
    for (int turn = 0; turn < rounds / 4; ++turn) {
        tw_durable *member = nullptr;
        assert_int_equal(open_in_memory(&member, rt, address, {}), 0);
        assert_int_equal(tw_durable_register(member, "job", note, &member, nullptr), 0);
        put_share(member, 0, most_at_once);
        assert_int_equal(tw_durable_close(member), 0);
        tw_durable_filter started = {};
        started.states = TW_DURABLE_STARTED;
        assert_int_equal(tw_durable_count(keeper, &started), 0);
    }
    assert_int_equal(tw_durable_close(keeper), 0);
    tw_runtime_free(rt);
}

}  // namespace
