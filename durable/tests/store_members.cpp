// Members and their leases.
#include "store_test.hpp"

namespace tickwheel::durable::tests {
namespace {

FIXTURE(begin_test, end_test);

TEST(a_number_is_of_one_member_alone) {
    const tw_store_member one = to.join(), other = to.join();
    assert_true(one.id != other.id);
    assert_int_equal(to.leave(other), 0);
    assert_true(to.join().id != other.id);
}

TEST(a_lease_can_be_renewed_after_its_end) {
    const tw_store_member other = to.join();
    to.put("mail", "17");
    const seen held = to.claim(who, {"mail"}).at(0);
    to.end_lease(who);
    to.claim(other, {"mail"});
    assert_true(to.has_dead());
    assert_int_equal(to.renew(who), 0);
    to.claim(other, {"mail"});
    assert_false(to.has_dead());
    assert_int_equal(to.bury(), 0);
    assert_true(to.start(who, held).started);
}

TEST(nobody_is_dead_while_leases_last) {
    to.put("mail", "17");
    to.claim(who, {"mail"});
    assert_false(to.has_dead());
    assert_int_equal(to.bury(), 0);
    assert_int_equal(to.renew(who), 0);
}

TEST(what_a_dead_member_held_is_released) {
    const tw_store_member heir = to.join();
    to.put("mail", "17");
    const seen held = to.claim(who, {"mail"}).at(0);
    to.end_lease(who);
    assert_int_equal(to.bury(), 1);
    const seen found = to.get("mail", "17").value();
    assert_int_equal(found.state, TW_DURABLE_PENDING);
    assert_false(found.holder.has_value());
    assert_int_equal(found.ready, held.ready);
    const seen again = to.claim(heir, {"mail"}).at(0);
    assert_true(again.token > held.token);
    assert_false(to.has_dead());
}

TEST(a_death_counts_as_an_attempt_of_what_was_started) {
    to.put("mail", "started");
    to.put("mail", "held", 10 * minute);
    assert_int_equal(to.claim(who, {"mail"}, 20 * minute).size(), 2);
    to.end_lease(who);
    assert_int_equal(to.bury(), 2);
    assert_int_equal(to.get("mail", "started")->attempts, 1);
    assert_int_equal(to.get("mail", "held")->attempts, 0);
}

TEST(attempts_add_up_over_deaths) {
    to.put("mail", "17");
    for (unsigned deaths = 1; deaths <= 3; ++deaths) {
        who = to.join();
        assert_int_equal(to.claim(who, {"mail"}).at(0).attempts, deaths - 1);
        to.end_lease(who);
        assert_int_equal(to.bury(), 1);
    }
    assert_int_equal(to.get("mail", "17")->attempts, 3);
}

TEST(a_burial_goes_on_where_its_limit_ended_it) {
    const tw_store_member other = to.join();
    for (int i = 0; i < 5; ++i)
        to.put("mail", std::to_string(i));
    assert_int_equal(to.claim(who, {"mail"}).size(), 5);
    to.end_lease(who);
    assert_int_equal(to.bury(2), 2);
    to.claim(other, {"none"});
    assert_true(to.has_dead());
    assert_int_equal(to.renew(who), -ESTALE);  // the member is dead although it still holds jobs
    assert_int_equal(to.bury(2), 2);
    assert_int_equal(to.bury(2), 1);
    assert_int_equal(to.bury(2), 0);
    to.claim(other, {"none"});
    assert_false(to.has_dead());
}

TEST(a_burial_leaves_the_living_alone) {
    const tw_store_member dead = to.join(), living = to.join();
    to.put("mail", "1");
    to.claim(dead, {"mail"});
    to.put("mail", "2");
    const seen held = to.claim(living, {"mail"}).at(0);
    to.end_lease(dead);
    assert_int_equal(to.bury(), 1);
    assert_true(to.start(living, held).started);
}

// --- the dead --------------------------------------------------------------------------------

// Asserts that each function refuses the dead member `who`, which held this job.
void assert_is_refused(const seen &held) {
    std::int64_t read = 0;
    tw_store_start start{};
    start.kind = held.kind.c_str();
    start.key = held.key.c_str();
    start.token = held.token;
    tw_store_outcome outcome = outcome_of(held, TW_STORE_END);
    assert_int_equal(to.renew(who), -ESTALE);
    assert_int_equal(to.try_claim(who, {"mail"}, minute), -ESTALE);
    assert_int_equal(store().start(to.raw(), &who, &start, 1, &read), -ESTALE);
    assert_int_equal(store().settle(to.raw(), &who, &outcome, 1), -ESTALE);
    assert_int_equal(to.resume(who), -ESTALE);
    assert_int_equal(to.leave(who), -ESTALE);
}

TEST(a_member_that_is_dead_or_has_left_may_do_nothing) {
    to.put("mail", "17");
    to.put("mail", "18");
    const seen held = to.claim(who, {"mail"}).at(0);
    to.end_lease(who);
    assert_int_equal(to.bury(1), 1);
    assert_is_refused(held);  // the member still holds a job
    assert_int_equal(to.bury(), 1);
    assert_is_refused(held);
    who = to.join();
    const seen other = to.claim(who, {"mail"}).at(0);
    assert_int_equal(to.leave(who), 0);
    assert_is_refused(other);
    assert_int_equal(to.count(), 2);
}

TEST(a_member_whose_lease_has_ended_claims_nothing) {
    to.put("mail", "17");
    to.end_lease(who);
    assert_int_equal(to.try_claim(who, {"mail"}), -ESTALE);
    assert_int_equal(to.state_of("mail", "17"), TW_DURABLE_PENDING);
    assert_int_equal(to.renew(who), 0);
    assert_int_equal(to.claim(who, {"mail"}).size(), 1);
}

// --- leaving and coming back -----------------------------------------------------------------

TEST(leaving_releases_what_was_held) {
    to.put("mail", "started");
    to.put("mail", "held", 5 * second);
    assert_int_equal(to.claim(who, {"mail"}, minute).size(), 2);
    assert_int_equal(to.leave(who), 0);
    for (const seen &each : to.list()) {
        assert_int_equal(each.state, TW_DURABLE_PENDING);
        assert_int_equal(each.attempts, 0);
    }
    assert_int_equal(to.bury(), 0);
}

TEST(resuming_tells_what_is_held) {
    const tw_store_member other = to.join();
    to.put("mail", "of another");
    to.claim(other, {"mail"});
    to.put("mail", "started");
    to.put("mail", "held", 5 * second);
    const std::vector<seen> claimed = to.claim(who, {"mail"}, minute);
    to.put("mail", "pending");
    std::vector<seen> held;
    assert_int_equal(to.resume(who, &held), 0);
    assert_int_equal(held.size(), 2);
    for (const seen &each : held) {
        const seen &was = each.key == claimed[0].key ? claimed[0] : claimed[1];
        assert_string_equal(each.key.c_str(), was.key.c_str());
        assert_string_equal(each.kind.c_str(), "mail");
        assert_int_equal(each.state, was.state);
        assert_int_equal(each.token, was.token);
        assert_int_equal(each.ready, was.ready);
    }
}

TEST(resuming_marks_what_runs_as_started) {
    to.put("mail", "runs", 10 * minute);
    to.put("mail", "waits", 10 * minute);
    const std::vector<seen> claimed = to.claim(who, {"mail"}, 20 * minute);
    const std::int64_t token = claimed.at(0).token, of_another = claimed.at(1).token + 1000;
    const tw_store_member other = to.join();
    std::vector<seen> held;
    assert_int_equal(to.renew(who, 1), 0);  // `resume` does not need a lease that lasts
    assert_int_equal(to.resume(who, &held, {token, of_another}), 0);
    assert_int_equal(held.size(), 2);
    for (const seen &each : held)
        assert_int_equal(each.state, each.token == token ? TW_DURABLE_STARTED : TW_DURABLE_HELD);
    assert_int_equal(to.state_of("mail", claimed.at(0).key), TW_DURABLE_STARTED);
    assert_int_equal(to.state_of("mail", claimed.at(1).key), TW_DURABLE_HELD);
    tw_store_member stranger = other;
    assert_int_equal(to.resume(stranger, nullptr, {claimed.at(1).token}), 0);
    assert_int_equal(to.state_of("mail", claimed.at(1).key), TW_DURABLE_HELD);
    assert_int_equal(to.remove("mail", claimed.at(0).key), 0);
}

TEST(a_claim_of_the_former_epoch_claims_nothing) {
    const tw_store_member former = who;
    to.put("mail", "17");
    assert_int_equal(to.resume(who), 0);
    assert_int_equal(who.id, former.id);
    assert_true(who.epoch > former.epoch);
    assert_int_equal(to.try_claim(former, {"mail"}), -ESTALE);
    assert_int_equal(to.state_of("mail", "17"), TW_DURABLE_PENDING);
    assert_int_equal(to.renew(former), -ESTALE);
    assert_int_equal(to.renew(who), 0);
    assert_int_equal(to.claim(who, {"mail"}).size(), 1);
}

TEST(the_former_epoch_neither_starts_nor_settles) {
    tw_store_member former = who;
    to.put("mail", "17");
    const seen held = to.claim(who, {"mail"}).at(0);
    assert_int_equal(to.resume(who), 0);
    tw_store_outcome outcome = outcome_of(held, TW_STORE_END);
    tw_store_start start{};
    std::int64_t read = 0;
    start.kind = "mail";
    start.key = "17";
    start.token = held.token;
    assert_int_equal(store().settle(to.raw(), &former, &outcome, 1), -ESTALE);
    assert_int_equal(store().start(to.raw(), &former, &start, 1, &read), -ESTALE);
    assert_int_equal(to.state_of("mail", "17"), TW_DURABLE_STARTED);
}

TEST(resuming_and_leaving_do_not_need_the_epoch) {
    tw_store_member former = who;
    assert_int_equal(to.resume(who), 0);
    assert_int_equal(to.resume(former), 0);  // as if the answer to the first had been lost
    assert_true(former.epoch > who.epoch);
    assert_int_equal(to.leave(who), 0);
    assert_int_equal(to.renew(former), -ESTALE);
}

TEST(a_member_outlives_its_connection) {
    to.put("mail", "17");
    std::optional<seen> held;
    {
        connection breaks;
        who = breaks.join();
        held = breaks.claim(who, {"mail"}).at(0);
    }
    assert_int_equal(to.resume(who), 0);
    assert_int_equal(to.settle(who, outcome_of(*held, TW_STORE_END)), 1);
}

}  // namespace

}  // namespace tickwheel::durable::tests
