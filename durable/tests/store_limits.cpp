// Claims with limits: how many jobs of a kind are held at a time, and how many are claimed in a time.
#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>

#include "store_test.hpp"

namespace tickwheel::durable::tests {
namespace {

tw_store_claim at_most(std::uint32_t running) {
    tw_store_claim limits{};
    limits.running = running;
    return limits;
}

tw_store_claim one_each(std::int64_t pause, std::int64_t tolerance = 0) {
    tw_store_claim limits{};
    limits.pause_ns = pause;
    limits.tolerance_ns = tolerance;
    return limits;
}

// Puts jobs with the keys "0", "1" and so on that are ready.
void put_some(const char *kind, int count) {
    std::vector<std::string> keys;
    std::vector<tw_durable_job> jobs;
    for (int i = 0; i < count; ++i)
        keys.push_back(std::to_string(i));
    for (const std::string &key : keys)
        jobs.push_back(job_of(kind, key.c_str()));
    to.put_many(jobs);
}

FIXTURE(begin_test, end_test);

// --- how many at a time ------------------------------------------------------------------------

TEST(no_more_jobs_of_a_kind_are_held_than_the_limit_allows) {
    put_some("mail", 5);
    const std::vector<seen> first = to.claim_within(at_most(2), who, "mail");
    assert_int_equal(first.size(), 2);
    assert_int_equal(first[0].state, TW_DURABLE_STARTED);
    assert_int_equal(to.state_of("mail", first[0].key), TW_DURABLE_STARTED);
    assert_true(first[0].ready <= first[1].ready && first[1].ready <= to.look().next_ns);
    assert_true(to.look().is_full != 0);
    assert_true(to.claim_within(at_most(2), who, "mail").empty());
    assert_true(to.look().is_full != 0 && to.look().next_ns <= to.look().now_ns);
    assert_true(to.look().starts_ns <= to.look().now_ns);
    to.settle(who, outcome_of(first[0], TW_STORE_END));
    assert_int_equal(to.claim_within(at_most(2), who, "mail").size(), 1);
}

TEST(whatever_ends_the_hold_of_a_job_makes_room_for_another) {
    const std::function<void(const seen &)> ends[] = {
        [](const seen &held) { to.settle(who, outcome_of(held, TW_STORE_END)); },
        [](const seen &held) {
            tw_store_outcome later = outcome_of(held, TW_STORE_MOVE);
            later.ready_is_delay = 1;
            later.ready_ns = 10 * minute;
            to.settle(who, later);
        },
        [](const seen &held) { to.settle(who, outcome_of(held, TW_STORE_FAIL)); },
        [](const seen &held) { to.settle(who, outcome_of(held, TW_STORE_RELEASE)); },
        [](const seen &held) { to.remove("mail", held.key); },
        [](const seen &held) { to.put("mail", held.key, 10 * minute); },
        [](const seen &) {
            to.leave(who);
            who = to.join("the holder", 60 * minute);
        },
    };
    put_some("mail", 10);
    std::vector<seen> held = to.claim_within(at_most(1), who, "mail");
    for (const auto &end : ends) {
        assert_int_equal(held.size(), 1);
        assert_true(to.claim_within(at_most(1), who, "mail").empty());
        end(held[0]);
        held = to.claim_within(at_most(1), who, "mail");
    }
    assert_int_equal(held.size(), 1);
}

TEST(the_jobs_of_a_dead_member_count_until_they_are_released) {
    const tw_store_member other = to.join("another", minute);
    put_some("mail", 2);
    assert_int_equal(to.claim_within(at_most(1), other, "mail").size(), 1);
    to.end_lease(other);
    assert_true(to.claim_within(at_most(1), who, "mail").empty());
    assert_true(to.look().is_full != 0);
    assert_int_equal(to.bury(), 1);
    assert_int_equal(to.claim_within(at_most(1), who, "mail").size(), 1);
}

TEST(other_kinds_do_not_count) {
    put_some("mail", 3);
    put_some("bill", 3);
    assert_int_equal(to.claim_within(at_most(1), who, "bill").size(), 1);
    assert_int_equal(to.claim_within(at_most(2), who, "mail").size(), 2);
    assert_int_equal(to.claim(who, {"bill"}).size(), 2);
}

TEST(each_claim_keeps_its_own_limit) {
    put_some("mail", 9);
    assert_int_equal(to.claim_within(at_most(3), who, "mail").size(), 3);
    assert_true(to.claim_within(at_most(2), who, "mail").empty());
    assert_int_equal(to.claim_within(at_most(4), who, "mail").size(), 1);
    assert_int_equal(to.claim_within(at_most(9), who, "mail", 2).size(), 2);
}

TEST(a_claim_with_limits_takes_only_what_is_ready_from_its_start_on) {
    put_some("mail", 2);
    to.put("mail", "later", minute);
    tw_store_claim limits = at_most(9);
    limits.from_ns = to.get("mail", "1")->ready;
    const std::vector<seen> held = to.claim_within(limits, who, "mail");
    assert_false(held.empty());
    assert_string_equal(held.back().key.c_str(), "1");
    assert_false(to.look().is_full != 0);
    assert_int_equal(to.look().next_ns, to.get("mail", "later")->ready);
}

TEST(a_member_without_a_lease_claims_nothing_within_limits) {
    std::vector<seen> none;
    put_some("mail", 1);
    to.end_lease(who);
    assert_int_equal(to.try_claim_within(at_most(1), who, "mail", 1, none), -ESTALE);
}

// --- how many in a time ------------------------------------------------------------------------

// The store remembers the rate of a kind, so each of these tests has its own.

TEST(jobs_are_claimed_one_after_each_pause) {
    constexpr std::int64_t pause = 50 * ms;
    put_some("steady", 5);
    assert_int_equal(to.claim_within(one_each(pause), who, "steady").size(), 1);
    std::int64_t allowed = to.look().starts_ns;
    for (int i = 1; i < 5; ++i) {
        std::vector<seen> next;
        wait_until([&] {
            next = to.claim_within(one_each(pause), who, "steady");
            assert_true(next.empty() || to.look().now_ns >= allowed);
            return !next.empty();
        });
        assert_int_equal(next.size(), 1);
        assert_true(to.look().starts_ns >= allowed + pause);
        assert_true(to.look().starts_ns <= to.look().now_ns + pause);
        allowed = to.look().starts_ns;
    }
}

TEST(a_claim_takes_as_many_as_the_tolerance_allows) {
    put_some("bursts", 40);
    assert_int_equal(to.claim_within(one_each(10 * second, 45 * second), who, "bursts").size(), 5);
    assert_true(to.claim_within(one_each(10 * second, 45 * second), who, "bursts").empty());
    assert_int_equal(to.claim_within(one_each(10 * second, 60 * second), who, "bursts").size(), 2);
}

TEST(a_rate_outlasts_the_jobs_and_the_members) {
    const tw_store_member other = to.join("another");
    put_some("rare", 1);
    to.settle(other, outcome_of(to.claim_within(one_each(minute), other, "rare").at(0), TW_STORE_END));
    to.leave(other);
    put_some("rare", 1);
    assert_true(to.claim_within(one_each(minute), who, "rare").empty());
    assert_true(to.look().starts_ns > to.now() + 30 * second && to.look().starts_ns <= to.now() + minute);
    assert_false(to.look().is_full != 0);
}

TEST(an_idle_time_is_not_made_up_for) {
    put_some("idle", 9);
    to.claim_within(one_each(ms), who, "idle");
    pass(20 * ms);
    assert_int_equal(to.claim_within(one_each(ms), who, "idle").size(), 1);
}

TEST(both_limits_hold) {
    tw_store_claim limits = one_each(second, 10 * second);
    limits.running = 3;
    put_some("both", 20);
    const std::vector<seen> held = to.claim_within(limits, who, "both");
    assert_int_equal(held.size(), 3);
    for (const seen &each : held)
        to.settle(who, outcome_of(each, TW_STORE_END));
    limits.running = 20;
    assert_in_range(to.claim_within(limits, who, "both").size(), 8, 9);
}

// --- races -------------------------------------------------------------------------------------

// CMocka's checks end a test by a longjmp, which must not leave a thread. So threads record what they see.
struct race {
    std::atomic<int> held{0}, most{0}, left;
    std::atomic<bool> is_wrong{false};
    explicit race(int jobs) : left(jobs) {}

    // Claims and ends jobs until none is left.
    void run(connection &by, const tw_store_member &member, std::uint32_t limit) {
        while (left > 0 && !is_wrong) {
            std::vector<seen> claimed;
            is_wrong = is_wrong || by.try_claim_within(at_most(limit), member, "mail", 2, claimed) != 0;
            const int now = held += static_cast<int>(claimed.size());
            for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);)
                ;
            std::this_thread::yield();
            held -= static_cast<int>(claimed.size());
            for (const seen &each : claimed) {
                tw_store_outcome end = outcome_of(each, TW_STORE_END);
                is_wrong = is_wrong || store().settle(by.raw(), &member, &end, 1) != 0 || end.matched != 1;
                --left;
            }
        }
    }
};

TEST(racing_members_keep_the_limit) {
    constexpr int jobs = SLOW ? 100 : 400, runners = 4;
    put_some("mail", jobs);
    race of(jobs);
    std::vector<std::unique_ptr<connection>> connections;
    std::vector<std::thread> threads;
    for (int i = 0; i < runners; ++i)
        connections.push_back(std::make_unique<connection>());
    for (const auto &each : connections)
        threads.emplace_back([&of, by = each.get(), member = each->join()] { of.run(*by, member, 3); });
    for (std::thread &each : threads)
        each.join();
    assert_false(of.is_wrong);
    assert_int_equal(of.left, 0);
    assert_in_range(of.most, 2, 3);
}

}  // namespace
}  // namespace tickwheel::durable::tests
