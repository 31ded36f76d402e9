// Starting and settling what is held.
#include "store_test.hpp"

namespace tickwheel::durable::tests {
namespace {

// A member with one job, held but not ready for a while, or started.
struct holding {
    connection to;
    tw_store_member who = to.join();
    seen held;

    // A busy machine may take longer than a short delay, and then it is put once more with a longer one.
    explicit holding(std::int64_t delay) {
        do {
            to.put("mail", "17", delay);
            held = to.claim(who, {"mail"}, 20 * minute).at(0);
            delay *= 2;
        } while (delay != 0 && held.state != TW_DURABLE_HELD);
    }
};

// --- starting --------------------------------------------------------------------------------

FIXTURE(begin_test, nullptr);

TEST(a_held_job_starts_when_it_is_ready) {
    holding it(100 * ms);
    assert_int_equal(it.held.state, TW_DURABLE_HELD);
    wait_until([&] { return it.to.start(it.who, it.held).started != 0; });
    assert_true(it.to.now() >= it.held.ready);
    assert_int_equal(it.to.state_of("mail", "17"), TW_DURABLE_STARTED);
}

TEST(a_job_that_is_not_ready_is_not_started) {
    holding it(10 * minute);
    const tw_store_start start = it.to.start(it.who, it.held);
    assert_false(start.started);
    assert_int_equal(start.ready_ns, it.held.ready);
    assert_int_equal(it.to.state_of("mail", "17"), TW_DURABLE_HELD);
}

TEST(to_start_twice_is_to_start_once) {
    holding it(0);
    assert_true(it.to.start(it.who, it.held).started);
    assert_true(it.to.start(it.who, it.held).started);
    assert_int_equal(it.to.get("mail", "17")->attempts, 0);
}

void assert_is_lost(const tw_store_start &start) {
    assert_false(start.started);
    assert_int_equal(start.ready_ns, TW_STORE_NEVER);
}

TEST(a_replaced_job_is_not_started) {
    holding it(0);
    it.to.put("mail", "17");
    assert_is_lost(it.to.start(it.who, it.held));
}

TEST(a_removed_job_is_not_started) {
    holding it(0);
    it.to.remove("mail", "17");
    assert_is_lost(it.to.start(it.who, it.held));
}

TEST(a_job_with_another_token_is_not_started) {
    holding it(0);
    ++it.held.token;
    assert_is_lost(it.to.start(it.who, it.held));
    it.held.token -= 2;
    assert_is_lost(it.to.start(it.who, it.held));
}

TEST(a_job_of_another_member_is_not_started) {
    holding it(0);
    assert_is_lost(it.to.start(it.to.join(), it.held));
}

TEST(a_released_job_is_not_started) {
    holding it(0);
    it.to.settle(it.who, outcome_of(it.held, TW_STORE_RELEASE));
    assert_is_lost(it.to.start(it.who, it.held));
}

TEST(a_job_is_not_started_after_the_lease) {
    holding it(100 * ms);
    it.to.end_lease(it.who);
    wait_until([&] { return it.to.now() > it.held.ready; });
    const tw_store_start start = it.to.start(it.who, it.held);
    assert_false(start.started);
    assert_int_equal(start.ready_ns, it.held.ready);  // it still holds it
    assert_int_equal(it.to.renew(it.who), 0);
    assert_true(it.to.start(it.who, it.held).started);
}

TEST(several_jobs_are_started_at_once) {
    connection to;
    const tw_store_member who = to.join();
    to.put("mail", "ready");
    to.put("mail", "later", 10 * minute);
    to.put("mail", "gone", 10 * minute);
    const std::vector<seen> held = to.claim(who, {"mail"}, 20 * minute);
    to.remove("mail", "gone");
    std::vector<tw_store_start> starts;
    for (const seen &each : held)
        starts.push_back(
            {.kind = "mail", .key = each.key.c_str(), .token = each.token, .started = -1, .ready_ns = -1});
    std::int64_t read = 0;
    assert_int_equal(store().start(to.raw(), &who, starts.data(), starts.size(), &read), 0);
    for (const tw_store_start &each : starts)
        assert_int_equal(each.started, std::strcmp(each.key, "ready") == 0 ? 1 : 0);
}

// --- settling --------------------------------------------------------------------------------

TEST(an_end_deletes_a_job) {
    holding it(0);
    assert_int_equal(it.to.settle(it.who, outcome_of(it.held, TW_STORE_END)), 1);
    assert_int_equal(it.to.count(), 0);
}

TEST(a_move_makes_a_job_pending_with_other_values) {
    holding it(0);
    tw_store_outcome outcome = outcome_of(it.held, TW_STORE_MOVE);
    outcome.due_ns += minute;
    outcome.ready_ns = outcome.due_ns + second;
    outcome.attempts = 3;
    outcome.error = "no answer";
    assert_int_equal(it.to.settle(it.who, outcome), 1);
    const seen now = it.to.get("mail", "17").value();
    assert_int_equal(now.state, TW_DURABLE_PENDING);
    assert_int_equal(now.job.due_ns, outcome.due_ns);
    assert_int_equal(now.ready, outcome.ready_ns);
    assert_int_equal(now.attempts, 3);
    assert_string_equal(now.error.value_or("").c_str(), "no answer");
    assert_false(now.holder.has_value());
    assert_int_equal(now.token, it.held.token);
}

TEST(a_move_without_an_error_clears_it) {
    holding it(0);
    tw_store_outcome outcome = outcome_of(it.held, TW_STORE_MOVE);
    outcome.error = "no answer";
    it.to.settle(it.who, outcome);
    it.to.settle(it.who, outcome_of(it.to.claim(it.who, {"mail"}).at(0), TW_STORE_MOVE));
    assert_false(it.to.get("mail", "17")->error.has_value());
}

TEST(a_delay_of_a_move_counts_from_now) {
    holding it(0);
    tw_store_outcome outcome = outcome_of(it.held, TW_STORE_MOVE);
    outcome.ready_ns = minute;
    outcome.ready_is_delay = 1;
    const std::int64_t before = it.to.now();
    assert_int_equal(it.to.settle(it.who, outcome), 1);
    const seen now = it.to.get("mail", "17").value();
    assert_int_equal(now.job.due_ns, it.held.job.due_ns);
    assert_true(now.ready >= before + minute && now.ready <= it.to.now() + minute);
}

TEST(a_moved_job_is_claimed_at_its_new_time) {
    holding it(0);
    tw_store_outcome outcome = outcome_of(it.held, TW_STORE_MOVE);
    outcome.ready_ns = minute;
    outcome.ready_is_delay = 1;
    it.to.settle(it.who, outcome);
    assert_true(it.to.claim(it.who, {"mail"}).empty());
    assert_int_equal(it.to.claim(it.who, {"mail"}, 2 * minute).size(), 1);
}

TEST(a_failure_sets_a_job_aside) {
    holding it(0);
    tw_store_outcome outcome = outcome_of(it.held, TW_STORE_FAIL);
    outcome.attempts = 20;
    outcome.error = "no such address";
    assert_int_equal(it.to.settle(it.who, outcome), 1);
    const seen now = it.to.get("mail", "17").value();
    assert_int_equal(now.state, TW_DURABLE_FAILED);
    assert_int_equal(now.attempts, 20);
    assert_string_equal(now.error.value_or("").c_str(), "no such address");
    assert_false(now.holder.has_value());
}

TEST(a_release_leaves_a_job_as_it_was) {
    holding it(0);
    tw_store_outcome outcome = outcome_of(it.held, TW_STORE_RELEASE);
    outcome.due_ns = outcome.ready_ns = 0;
    outcome.attempts = 7;
    outcome.error = "not told";
    assert_int_equal(it.to.settle(it.who, outcome), 1);
    const seen now = it.to.get("mail", "17").value();
    assert_int_equal(now.state, TW_DURABLE_PENDING);
    assert_int_equal(now.job.due_ns, it.held.job.due_ns);
    assert_int_equal(now.ready, it.held.ready);
    assert_int_equal(now.attempts, 0);
    assert_false(now.error.has_value());
}

TEST(what_is_not_held_is_not_settled) {
    holding it(0);
    const tw_store_member other = it.to.join();
    for (const auto what : {TW_STORE_END, TW_STORE_MOVE, TW_STORE_FAIL, TW_STORE_RELEASE}) {
        tw_store_outcome outcome = outcome_of(it.held, what);
        assert_int_equal(it.to.settle(other, outcome), 0);
        ++outcome.token;
        assert_int_equal(it.to.settle(it.who, outcome), 0);
    }
    const seen now = it.to.get("mail", "17").value();
    assert_int_equal(now.state, TW_DURABLE_STARTED);
    assert_int_equal(now.token, it.held.token);
}

TEST(to_settle_twice_is_to_settle_once) {
    holding it(0);
    const tw_store_outcome outcome = outcome_of(it.held, TW_STORE_RELEASE);
    assert_int_equal(it.to.settle(it.who, outcome), 1);
    assert_int_equal(it.to.settle(it.who, outcome), 0);
}

TEST(what_was_held_is_settled_after_the_lease) {
    holding it(0);
    it.to.end_lease(it.who);
    assert_int_equal(it.to.settle(it.who, outcome_of(it.held, TW_STORE_END)), 1);
    assert_int_equal(it.to.count(), 0);
}

TEST(several_outcomes_are_settled_at_once) {
    connection to;
    const tw_store_member who = to.join();
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

}  // namespace

}  // namespace tickwheel::durable::tests
