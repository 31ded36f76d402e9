// Held jobs: starting them, settling them, and puts that claim their jobs.
#include <atomic>
#include <thread>

#include "store_test.hpp"

namespace tickwheel::durable::tests {
namespace {

// The job that the member holds.
seen held_job;

// Makes the member hold a job: started if `delay` is 0, otherwise not ready yet. If a busy machine takes
// longer than the delay, puts the job once more with a longer one.
void hold(std::int64_t delay) {
    do {
        to.put("mail", "17", delay);
        held_job = to.claim(who, {"mail"}, 20 * minute).at(0);
        delay *= 2;
    } while (delay != 0 && held_job.state != TW_DURABLE_HELD);
}

// --- starting --------------------------------------------------------------------------------

FIXTURE(begin_test, end_test);

TEST(a_held_job_starts_when_it_is_ready) {
    hold(100 * ms);
    assert_int_equal(held_job.state, TW_DURABLE_HELD);
    wait_until([&] { return to.start(who, held_job).started != 0; });
    assert_true(to.now() >= held_job.ready);
    assert_int_equal(to.state_of("mail", "17"), TW_DURABLE_STARTED);
}

TEST(a_job_that_is_not_ready_is_not_started) {
    hold(10 * minute);
    const tw_store_start start = to.start(who, held_job);
    assert_false(start.started);
    assert_int_equal(start.ready_ns, held_job.ready);
    assert_int_equal(to.state_of("mail", "17"), TW_DURABLE_HELD);
}

TEST(to_start_twice_is_to_start_once) {
    hold(0);
    assert_true(to.start(who, held_job).started);
    assert_true(to.start(who, held_job).started);
    assert_int_equal(to.get("mail", "17")->attempts, 0);
}

void assert_is_lost(const tw_store_start &start) {
    assert_false(start.started);
    assert_int_equal(start.ready_ns, TW_NO_DEADLINE);
}

TEST(a_job_that_the_member_holds_no_more_is_not_started) {
    const std::function<void()> losses[] = {
        [] { to.put("mail", "17"); },
        [] { to.remove("mail", "17"); },
        [] { to.settle(who, outcome_of(held_job, TW_STORE_RELEASE)); },
        [] { ++held_job.token; },
        [] { --held_job.token; },
        [] { who = to.join(); },
    };
    for (const auto &lose : losses) {
        hold(0);
        lose();
        assert_is_lost(to.start(who, held_job));
    }
}

TEST(a_job_is_not_started_after_the_lease) {
    hold(100 * ms);
    to.end_lease(who);
    wait_until([&] { return to.now() > held_job.ready; });
    const tw_store_start start = to.start(who, held_job);
    assert_false(start.started);
    assert_int_equal(start.ready_ns, held_job.ready);  // the member still holds the job
    assert_int_equal(to.renew(who), 0);
    assert_true(to.start(who, held_job).started);
}

TEST(several_jobs_are_started_at_once) {
    to.put("mail", "ready");
    to.put("mail", "later", 10 * minute);
    to.put("mail", "gone", 10 * minute);
    const std::vector<seen> held = to.claim(who, {"mail"}, 20 * minute);
    to.remove("mail", "gone");
    std::vector<tw_store_start> starts;
    for (const seen &each : held)
        starts.push_back({.kind = "mail",
                          .key = each.key.c_str(),
                          .token = each.token,
                          .row = each.row,
                          .started = -1,
                          .ready_ns = -1});
    std::int64_t read = 0;
    assert_int_equal(store().start(to.raw(), &who, starts.data(), starts.size(), &read), 0);
    for (const tw_store_start &each : starts)
        assert_int_equal(each.started, std::strcmp(each.key, "ready") == 0 ? 1 : 0);
}

// The row of a job is only a hint: none, or that of another job.
TEST(a_held_job_is_found_without_its_row) {
    to.put("mail", "1");
    to.put("mail", "2");
    std::vector<seen> held = to.claim(who, {"mail"});
    std::swap(held[0].row, held[1].row);
    for (seen &each : held) {
        assert_true(to.start(who, each).started);
        each.row = 0;
        assert_true(to.start(who, each).started);
        assert_int_equal(to.settle(who, outcome_of(each, TW_STORE_MOVE)), 1);
    }
    held = to.claim(who, {"mail"}, minute);
    std::swap(held[0].row, held[1].row);
    for (const seen &each : held)
        assert_int_equal(to.settle(who, outcome_of(each, TW_STORE_END)), 1);
    assert_int_equal(to.count(), 0);
}

// --- settling --------------------------------------------------------------------------------

TEST(an_end_deletes_a_job) {
    hold(0);
    assert_int_equal(to.settle(who, outcome_of(held_job, TW_STORE_END)), 1);
    assert_int_equal(to.count(), 0);
}

TEST(a_move_makes_a_job_pending_with_other_values) {
    hold(0);
    tw_store_outcome outcome = outcome_of(held_job, TW_STORE_MOVE);
    outcome.due_ns += minute;
    outcome.ready_ns = outcome.due_ns + second;
    outcome.attempts = 3;
    outcome.error = "no answer";
    assert_int_equal(to.settle(who, outcome), 1);
    const seen now = to.get("mail", "17").value();
    assert_int_equal(now.state, TW_DURABLE_PENDING);
    assert_int_equal(now.job.due_ns, outcome.due_ns);
    assert_int_equal(now.ready, outcome.ready_ns);
    assert_int_equal(now.attempts, 3);
    assert_string_equal(now.error.value_or("").c_str(), "no answer");
    assert_false(now.holder.has_value());
    assert_int_equal(now.token, held_job.token);
}

TEST(a_move_without_an_error_clears_it) {
    hold(0);
    tw_store_outcome outcome = outcome_of(held_job, TW_STORE_MOVE);
    outcome.error = "no answer";
    to.settle(who, outcome);
    to.settle(who, outcome_of(to.claim(who, {"mail"}).at(0), TW_STORE_MOVE));
    assert_false(to.get("mail", "17")->error.has_value());
}

TEST(a_delay_of_a_move_counts_from_now) {
    hold(0);
    tw_store_outcome outcome = outcome_of(held_job, TW_STORE_MOVE);
    outcome.ready_ns = minute;
    outcome.ready_is_delay = 1;
    const std::int64_t before = to.now();
    assert_int_equal(to.settle(who, outcome), 1);
    const seen now = to.get("mail", "17").value();
    assert_int_equal(now.job.due_ns, held_job.job.due_ns);
    assert_true(now.ready >= before + minute && now.ready <= to.now() + minute);
}

TEST(a_moved_job_is_claimed_at_its_new_time) {
    hold(0);
    tw_store_outcome outcome = outcome_of(held_job, TW_STORE_MOVE);
    outcome.ready_ns = minute;
    outcome.ready_is_delay = 1;
    to.settle(who, outcome);
    assert_true(to.claim(who, {"mail"}).empty());
    assert_int_equal(to.claim(who, {"mail"}, 2 * minute).size(), 1);
}

TEST(a_failure_sets_a_job_aside) {
    hold(0);
    tw_store_outcome outcome = outcome_of(held_job, TW_STORE_FAIL);
    outcome.attempts = 20;
    outcome.error = "no such address";
    assert_int_equal(to.settle(who, outcome), 1);
    const seen now = to.get("mail", "17").value();
    assert_int_equal(now.state, TW_DURABLE_FAILED);
    assert_int_equal(now.attempts, 20);
    assert_string_equal(now.error.value_or("").c_str(), "no such address");
    assert_false(now.holder.has_value());
}

TEST(a_release_leaves_a_job_as_it_was) {
    hold(0);
    tw_store_outcome outcome = outcome_of(held_job, TW_STORE_RELEASE);
    outcome.due_ns = outcome.ready_ns = 0;
    outcome.attempts = 7;
    outcome.error = "not told";
    assert_int_equal(to.settle(who, outcome), 1);
    const seen now = to.get("mail", "17").value();
    assert_int_equal(now.state, TW_DURABLE_PENDING);
    assert_int_equal(now.job.due_ns, held_job.job.due_ns);
    assert_int_equal(now.ready, held_job.ready);
    assert_int_equal(now.attempts, 0);
    assert_false(now.error.has_value());
}

TEST(what_is_not_held_is_not_settled) {
    hold(0);
    const tw_store_member other = to.join();
    for (const auto what : {TW_STORE_END, TW_STORE_MOVE, TW_STORE_FAIL, TW_STORE_RELEASE}) {
        tw_store_outcome outcome = outcome_of(held_job, what);
        assert_int_equal(to.settle(other, outcome), 0);
        ++outcome.token;
        assert_int_equal(to.settle(who, outcome), 0);
    }
    const seen now = to.get("mail", "17").value();
    assert_int_equal(now.state, TW_DURABLE_STARTED);
    assert_int_equal(now.token, held_job.token);
}

TEST(to_settle_twice_is_to_settle_once) {
    hold(0);
    const tw_store_outcome outcome = outcome_of(held_job, TW_STORE_RELEASE);
    assert_int_equal(to.settle(who, outcome), 1);
    assert_int_equal(to.settle(who, outcome), 0);
}

TEST(what_was_held_is_settled_after_the_lease) {
    hold(0);
    to.end_lease(who);
    assert_int_equal(to.settle(who, outcome_of(held_job, TW_STORE_END)), 1);
    assert_int_equal(to.count(), 0);
}

TEST(several_outcomes_are_settled_at_once) {
    for (const char *const key : {"end", "move", "fail", "release", "gone"})
        to.put("mail", key);
    const std::vector<seen> held = to.claim(who, {"mail"});
    to.remove("mail", "gone");
    std::vector<tw_store_outcome> outcomes;
    for (const seen &each : held) {
        const auto what = each.key == "end"    ? TW_STORE_END
                          : each.key == "move" ? TW_STORE_MOVE
                          : each.key == "fail" ? TW_STORE_FAIL
                                               : TW_STORE_RELEASE;
        outcomes.push_back(outcome_of(each, what));
    }
    assert_int_equal(store().settle(to.raw(), &who, outcomes.data(), outcomes.size()), 0);
    for (const tw_store_outcome &each : outcomes)
        assert_int_equal(each.matched, std::strcmp(each.key, "gone") != 0 ? 1 : 0);
    assert_int_equal(to.count(), 3);
    assert_int_equal(to.state_of("mail", "move"), TW_DURABLE_PENDING);
    assert_int_equal(to.state_of("mail", "fail"), TW_DURABLE_FAILED);
    assert_int_equal(to.state_of("mail", "release"), TW_DURABLE_PENDING);
}

// --- puts that claim ----------------------------------------------------------------------------

// The fields of a job that its put has claimed, as far as `start` and `settle` need them.
seen held_by(const tw_store_put &put) {
    seen held;
    held.kind = put.job->kind;
    held.key = put.job->key;
    held.job.due_ns = held.ready = put.ready_ns;
    held.token = put.token;
    return held;
}

TEST(a_put_can_hold_what_it_puts) {
    const tw_durable_job job = job_of("mail", "17", 30 * second);
    const tw_store_put put = to.put_held(job, who);
    assert_int_equal(put.existed, 0);
    assert_true(put.token > 0);
    assert_int_equal(put.started, 0);
    const seen found = to.get("mail", "17").value();
    assert_int_equal(found.state, TW_DURABLE_HELD);
    assert_string_equal(found.holder.value().c_str(), "the holder");
    assert_int_equal(found.token, put.token);
    assert_int_equal(found.ready, put.ready_ns);
    assert_int_equal(found.job.due_ns, put.ready_ns);
    assert_int_equal(to.claim(to.join("another"), {"mail"}, minute).size(), 0);
    assert_int_equal(to.look().next_ns, TW_NO_DEADLINE);
    const seen held = held_by(put);
    assert_false(to.start(who, held).started);
    assert_int_equal(to.settle(who, outcome_of(held, TW_STORE_END)), 1);
    assert_int_equal(to.count(), 0);
}

TEST(a_put_starts_what_it_holds_if_that_is_ready) {
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
    const tw_durable_job job = job_of("mail", "17");
    const auto is_pending = [&](const tw_store_member &member) {
        const tw_store_put put = to.put_held(job, member);
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
    const tw_store_member other = to.join();
    to.put("mail", "17");
    const seen former = to.claim(who, {"mail"}).at(0);
    const tw_durable_job job = job_of("mail", "17");
    const tw_store_put put = to.put_held(job, other);
    assert_true(put.token > former.token);
    assert_int_equal(to.settle(who, outcome_of(former, TW_STORE_END)), 0);
    const seen held = held_by(put);
    assert_int_equal(to.settle(other, outcome_of(held, TW_STORE_END)), 1);
}

TEST(a_put_that_holds_makes_a_failed_job_a_new_one) {
    const tw_durable_job job = job_of("mail", "17");
    const seen held = held_by(to.put_held(job, who));
    tw_store_outcome failed = outcome_of(held, TW_STORE_FAIL);
    failed.attempts = 3;
    failed.error = "why";
    assert_int_equal(to.settle(who, failed), 1);
    to.put_held(job, who);
    const seen found = to.get("mail", "17").value();
    assert_int_equal(found.state, TW_DURABLE_STARTED);
    assert_int_equal(found.attempts, 0);
    assert_false(found.error.has_value());
}

TEST(of_puts_of_one_name_the_last_is_held) {
    const tw_durable_job jobs[] = {job_of("mail", "17", minute), job_of("mail", "18"), job_of("mail", "17")};
    const auto puts = to.put_held({jobs[0], jobs[1], jobs[2]}, who);
    assert_int_equal(to.get("mail", "17").value().token, puts[2].token);
    assert_int_equal(puts[2].started, 1);
}

TEST(what_a_put_holds_is_released_with_its_member) {
    const tw_durable_job job = job_of("mail", "17");
    const tw_store_put put = to.put_held(job, who);
    std::vector<seen> held;
    assert_int_equal(to.resume(who, &held), 0);
    assert_int_equal(held.size(), 1);
    assert_int_equal(held[0].token, put.token);
    to.end_lease(who);
    assert_int_equal(to.bury(), 1);
    const seen found = to.get("mail", "17").value();
    assert_int_equal(found.state, TW_DURABLE_PENDING);
    assert_int_equal(found.attempts, 1);
}

TEST(listeners_are_told_of_what_a_put_does_not_hold) {
    connection ear;
    if (!ear.listens())
        skip();
    const tw_durable_job job = job_of("mail", "17");
    while (ear.notification(100 * ms))
        ;
    to.put_held(job, who);
    assert_false(ear.notification(200 * ms).has_value());
    assert_int_equal(to.leave(who), 0);
    assert_true(ear.notification(30 * second).has_value());
    to.put_held(job, who);
    assert_true(ear.notification(30 * second).has_value());
}

// If a member leaves during a put that claims for it, then `leave` releases the job, or the put does not
// claim it.
TEST(no_put_holds_for_a_member_that_ends_meanwhile) {
    constexpr int rounds = SLOW ? 20 : 100;
    connection other;
    std::atomic<int> round = 0, put_in = 0;
    std::atomic<bool> has_failed = false;
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
