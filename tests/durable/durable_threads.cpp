// Two members on real threads, with a store whose calls fail before and after they were carried out. Puts
// that claim meet each other, the clerk that resumes, and the gate; in the end everything has fired.
#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <tickwheel/durable_store.h>

// After those of C++, because CMocka defines `fail`.
#include "support/random.h"
#include "support/sanitized.h"
#include "support/test.h"

namespace {

constexpr int putters = 4, rounds = SLOW ? 400 : 2400, most_at_once = 8,
              jobs = putters * rounds * most_at_once;
constexpr const char *address = "memory:threads";

// --- the store -------------------------------------------------------------------------------

std::atomic<unsigned> one_fault_in{0};  // 0: none

bool breaks() {
    static std::atomic<std::uint64_t> threads{1};
    thread_local std::uint64_t seed = ++threads * 7919;
    const unsigned odds = one_fault_in;
    return odds != 0 && random_below(&seed, odds) == 0;
}

template <auto tw_store::*function> struct faulty;
template <class... Arguments, int (*tw_store::*function)(void *, Arguments...)> struct faulty<function> {
    static int call(void *connection, Arguments... arguments) {
        if (breaks())
            return -ENOTCONN;
        const int result = (tw_store_for(address)->*function)(connection, arguments...);
        return breaks() ? -ETIMEDOUT : result;
    }
};

tw_store faulty_store() {
    tw_store all = *tw_store_for(address);
    all.put = faulty<&tw_store::put>::call;
    all.claim = faulty<&tw_store::claim>::call;
    all.start = faulty<&tw_store::start>::call;
    all.settle = faulty<&tw_store::settle>::call;
    all.resume = faulty<&tw_store::resume>::call;
    all.renew = faulty<&tw_store::renew>::call;
    return all;
}

// --- what happens to each job ----------------------------------------------------------------

struct job_seen {
    std::atomic<bool> is_put{false};
    std::atomic<int> fires{0};
};
std::array<job_seen, jobs> seen;

tw_durable_answer note(tw_durable_fire *fire, void *) {
    ++seen[std::stoul(fire->key)].fires;
    return TW_DURABLE_DONE;
}

// Puts its share of the jobs, one or some at a time. What is said to have failed is put once more, and may be
// there already.
void put_share(tw_durable *durable, int first) {
    std::uint64_t seed = static_cast<std::uint64_t>(first) + 1;
    for (int next = first; next < first + rounds * most_at_once;) {
        const int count = std::min(1 + static_cast<int>(random_below(&seed, most_at_once)),
                                   first + rounds * most_at_once - next);
        std::vector<std::string> keys;
        std::vector<tw_durable_job> some(static_cast<std::size_t>(count));
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
        for (int i = 0; i < count; ++i)
            seen[static_cast<std::size_t>(next + i)].is_put = true;
        next += count;
    }
}

// Returns what is left when nothing is, or patience has ended.
template <class Count> std::int64_t wait_for_none(const Count &count) {
    const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(60);
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

TEST(whatever_breaks_all_that_was_put_fires) {
    const tw_store store = faulty_store();
    tw_runtime *rt = nullptr;
    tw_durable *keeper = nullptr, *members[2] = {};
    assert_int_equal(tw_runtime_new(&rt, nullptr), 0);
    assert_int_equal(tw_runtime_start(rt), 0);
    assert_int_equal(tw_durable_open(&keeper, nullptr, address, nullptr), 0);
    tw_durable_options options = {};
    options.store = &store;
    options.lease_ns = 3 * TW_SECOND;
    for (tw_durable *&each : members) {
        assert_int_equal(tw_durable_open(&each, rt, address, &options), 0);
        assert_int_equal(tw_durable_handle(each, "job", note, nullptr, nullptr), 0);
    }
    one_fault_in = 40;
    std::vector<std::thread> threads;
    for (int i = 0; i < putters; ++i)
        threads.emplace_back(put_share, members[i % 2], i * rounds * most_at_once);
    for (std::thread &each : threads)
        each.join();
    one_fault_in = 0;
    assert_int_equal(wait_for_none([&] { return tw_durable_count(keeper, nullptr); }), 0);
    int puts = 0;
    for (const job_seen &each : seen) {
        puts += each.is_put ? 1 : 0;
        assert_true(!each.is_put || each.fires > 0);
    }
    assert_int_equal(puts, jobs);
    for (tw_durable *const each : members) {
        assert_int_equal(wait_for_none([&] { return in_hand(each); }), 0);
        assert_int_equal(tw_durable_close(each), 0);
    }
    assert_int_equal(tw_durable_close(keeper), 0);
    tw_runtime_free(rt);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {cmocka_unit_test(whatever_breaks_all_that_was_put_fires)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
