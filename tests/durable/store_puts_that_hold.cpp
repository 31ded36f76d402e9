// Puts that claim what they put.
#include <atomic>
#include <thread>

#include "store_test.hpp"

namespace tickwheel::durable::tests {
namespace {

// What `start` and `settle` ask for, of a job that its put has claimed.
seen held_by(const tw_store_put &put) {
    seen it;
    it.kind = put.job->kind;
    it.key = put.job->key;
    it.job.due_ns = it.ready = put.ready_ns;
    it.token = put.token;
    return it;
}

FIXTURE(begin_test, nullptr);

TEST(a_put_can_hold_what_it_puts) {
    connection to;
    const tw_store_member who = to.join("one");
    const tw_durable_job job = job_of("mail", "17", 30 * second);
    const tw_store_put put = to.put_held(job, who);
    assert_int_equal(put.existed, 0);
    assert_true(put.token > 0);
    assert_int_equal(put.started, 0);
    const seen it = to.get("mail", "17").value();
    assert_int_equal(it.state, TW_DURABLE_HELD);
    assert_string_equal(it.holder.value().c_str(), "one");
    assert_int_equal(it.token, put.token);
    assert_int_equal(it.ready, put.ready_ns);
    assert_int_equal(it.job.due_ns, put.ready_ns);
    assert_int_equal(to.claim(to.join("another"), {"mail"}, minute).size(), 0);
    assert_int_equal(to.look().next_ns, TW_STORE_NEVER);
    const seen held = held_by(put);
    assert_false(to.start(who, held).started);
    assert_int_equal(to.settle(who, outcome_of(held, TW_STORE_END)), 1);
    assert_int_equal(to.count(), 0);
}

TEST(a_put_starts_what_it_holds_if_that_is_ready) {
    connection to;
    const tw_store_member who = to.join();
    const tw_durable_job now = job_of("mail", "now"), later = job_of("mail", "later", minute);
    tw_durable_job past = job_of("mail", "past", to.now() - second);
    past.absolute = 1;
    const auto puts = to.put_held({now, past, later}, who);
    assert_int_equal(puts[0].started, 1);
    assert_int_equal(puts[1].started, 1);
    assert_int_equal(puts[1].ready_ns, past.due_ns);
    assert_int_equal(puts[2].started, 0);
    assert_int_equal(to.state_of("mail", "now"), TW_DURABLE_STARTED);
    assert_int_equal(to.remove("mail", "past"), 0);
    assert_int_equal(to.remove("mail", "later"), 1);
}

TEST(only_what_is_to_be_held_is) {
    connection to;
    const tw_store_member who = to.join();
    const tw_durable_job jobs[] = {job_of("mail", "free"), job_of("mail", "held")};
    tw_store_put puts[2] = {};
    puts[0].job = &jobs[0];
    puts[1].job = &jobs[1];
    puts[1].hold = 1;
    assert_int_equal(store().put(to.raw(), puts, 2, 0, &who), 0);
    assert_int_equal(puts[0].token, 0);
    assert_true(puts[1].token > 0);
    assert_int_equal(to.state_of("mail", "free"), TW_DURABLE_PENDING);
    assert_int_equal(to.state_of("mail", "held"), TW_DURABLE_STARTED);
}

TEST(a_put_holds_nothing_for_those_who_must_not_claim) {
    connection to;
    const tw_durable_job job = job_of("mail", "17");
    const auto is_pending = [&](const tw_store_member &who) {
        const tw_store_put put = to.put_held(job, who);
        return put.token == 0 && to.state_of("mail", "17") == TW_DURABLE_PENDING;
    };
    assert_true(is_pending({.id = 4711, .epoch = 1}));
    const tw_store_member left = to.join();
    assert_int_equal(to.leave(left), 0);
    assert_true(is_pending(left));
    tw_store_member resumed = to.join();
    const tw_store_member former = resumed;
    assert_int_equal(to.resume(resumed), 0);
    assert_true(is_pending(former));
    assert_false(is_pending(resumed));
    const tw_store_member late = to.join();
    to.end_lease(late);
    assert_true(is_pending(late));
    to.bury();
    assert_true(is_pending(late));
}

TEST(a_put_holds_no_job_that_stays) {
    connection to;
    const tw_store_member who = to.join();
    to.put("mail", "17", minute);
    const tw_durable_job jobs[] = {job_of("mail", "17"), job_of("mail", "18")};
    const auto puts = to.put_held({jobs[0], jobs[1]}, who, true);
    assert_int_equal(puts[0].existed, 1);
    assert_int_equal(puts[0].token, 0);
    assert_int_equal(to.state_of("mail", "17"), TW_DURABLE_PENDING);
    assert_int_equal(puts[1].existed, 0);
    assert_true(puts[1].token > 0);
}

TEST(a_put_takes_a_job_from_whom_it_was_held_by) {
    connection to;
    const tw_store_member one = to.join("one"), other = to.join("other");
    to.put("mail", "17");
    const seen former = to.claim(one, {"mail"}).at(0);
    const tw_durable_job job = job_of("mail", "17");
    const tw_store_put put = to.put_held(job, other);
    assert_int_equal(put.existed, 1);
    assert_true(put.token > former.token);
    assert_int_equal(to.settle(one, outcome_of(former, TW_STORE_END)), 0);
    const seen held = held_by(put);
    assert_int_equal(to.settle(other, outcome_of(held, TW_STORE_END)), 1);
}

TEST(a_put_that_holds_makes_a_failed_job_a_new_one) {
    connection to;
    const tw_store_member who = to.join();
    const tw_durable_job job = job_of("mail", "17");
    const seen held = held_by(to.put_held(job, who));
    tw_store_outcome failed = outcome_of(held, TW_STORE_FAIL);
    failed.attempts = 3;
    failed.error = "why";
    assert_int_equal(to.settle(who, failed), 1);
    to.put_held(job, who);
    const seen it = to.get("mail", "17").value();
    assert_int_equal(it.state, TW_DURABLE_STARTED);
    assert_int_equal(it.attempts, 0);
    assert_false(it.error.has_value());
}

TEST(of_puts_of_one_name_the_last_is_held) {
    connection to;
    const tw_store_member who = to.join();
    const tw_durable_job jobs[] = {job_of("mail", "17", minute), job_of("mail", "18"), job_of("mail", "17")};
    const auto puts = to.put_held({jobs[0], jobs[1], jobs[2]}, who);
    assert_int_equal(puts[0].existed, 0);
    assert_int_equal(puts[2].existed, 1);
    assert_int_equal(to.get("mail", "17").value().token, puts[2].token);
    assert_int_equal(puts[2].started, 1);
}

TEST(what_a_put_holds_is_released_with_its_member) {
    connection to;
    tw_store_member who = to.join();
    const tw_durable_job job = job_of("mail", "17");
    const tw_store_put put = to.put_held(job, who);
    std::vector<seen> held;
    assert_int_equal(to.resume(who, &held), 0);
    assert_int_equal(held.size(), 1);
    assert_int_equal(held[0].token, put.token);
    to.end_lease(who);
    assert_int_equal(to.bury(), 1);
    const seen it = to.get("mail", "17").value();
    assert_int_equal(it.state, TW_DURABLE_PENDING);
    assert_int_equal(it.attempts, 1);
}

TEST(listeners_are_told_of_what_a_put_does_not_hold) {
    connection ear, to;
    if (!ear.listens())
        skip();
    const tw_store_member who = to.join();
    const tw_durable_job job = job_of("mail", "17");
    while (ear.told(100 * ms))
        ;
    to.put_held(job, who);
    assert_false(ear.told(200 * ms).has_value());
    assert_int_equal(to.leave(who), 0);
    assert_true(ear.told(30 * second).has_value());
    to.put_held(job, who);
    assert_true(ear.told(30 * second).has_value());
}

// A put whose member is just being buried, or resumes, is seen by that or holds nothing.
TEST(no_put_holds_for_a_member_that_ends_meanwhile) {
    constexpr int rounds = SLOW ? 20 : 100;
    connection to, other;
    std::atomic<int> round = 0, put_in = 0;
    std::atomic<bool> has_failed = false;
    tw_store_member who = {};
    std::thread putter([&] {
        for (int i = 1; i <= rounds && !has_failed; ++i) {
            while (round < i)
                std::this_thread::yield();
            const std::string key = std::to_string(i);
            const tw_durable_job job = job_of("mail", key.c_str());
            tw_store_put put = {};
            put.job = &job;
            put.hold = 1;
            has_failed = store().put(other.raw(), &put, 1, 0, &who) != 0;
            put_in = i;
        }
    });
    int left = 0;
    for (int i = 1; i <= rounds && !has_failed; ++i) {
        who = to.join();
        round = i;
        left += store().leave(to.raw(), &who) == 0 ? 1 : 0;
        while (put_in < i && !has_failed)
            std::this_thread::yield();
    }
    putter.join();
    assert_false(has_failed);
    assert_int_equal(left, rounds);
    tw_durable_filter pending = {};
    pending.states = TW_DURABLE_PENDING;
    assert_int_equal(to.count(pending), rounds);
}

}  // namespace

}  // namespace tickwheel::durable::tests
