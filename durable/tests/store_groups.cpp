// Jobs that wait for a group, and puts with an end.
#include <algorithm>
#include <atomic>
#include <thread>

#include "store_test.hpp"

namespace tickwheel::durable::tests {
namespace {

using texts = std::vector<std::string>;

tw_durable_job of_group(const char *group, const char *key, std::int64_t delay = 0) {
    tw_durable_job job = job_of("part", key, delay);
    job.group = group;
    return job;
}

tw_durable_job waits_for(const char *group, const char *key, std::int64_t delay = 0) {
    tw_durable_job job = job_of("whole", key, delay);
    job.waits_for = group;
    return job;
}

bool is_waiting(const char *key = "w") { return to.state_of("whole", key) == TW_DURABLE_WAITING; }

// Claims the part with this key, which is ready.
seen claim_part(const char *key) {
    for (const seen &each : to.claim(who, {"part"}))
        if (each.key == key)
            return each;
    assert_true(false);
    return {};
}

tw_durable_filter in_group(const char *group, unsigned states = 0, std::int64_t ready_before = 0) {
    tw_durable_filter filter{};
    filter.group = group;
    filter.states = states;
    filter.ready_before_ns = ready_before;
    return filter;
}

// --- waiting ---------------------------------------------------------------------------------

FIXTURE(begin_test, end_test);

TEST(a_job_waits_until_its_group_has_ended) {
    to.put_many({of_group("g", "1"), of_group("g", "2"), waits_for("g", "w")});
    const seen waiting = to.get("whole", "w").value();
    assert_int_equal(waiting.state, TW_DURABLE_WAITING);
    assert_int_equal(waiting.ready, TW_NO_DEADLINE);
    assert_string_equal(waiting.waits_for.value_or("").c_str(), "g");
    assert_string_equal(to.get("part", "1")->group.value_or("").c_str(), "g");
    assert_true(to.claim(who, {"whole"}, 60 * minute).empty());
    assert_int_equal(to.look().next_ns, TW_NO_DEADLINE);
    const std::vector<seen> parts = to.claim(who, {"part"});
    assert_int_equal(to.settle(who, outcome_of(parts.at(0), TW_STORE_END)), 1);
    assert_true(is_waiting());
    const std::int64_t before = to.now();
    assert_int_equal(to.settle(who, outcome_of(parts.at(1), TW_STORE_END)), 1);
    const seen released = to.get("whole", "w").value();
    assert_int_equal(released.state, TW_DURABLE_PENDING);
    assert_true(released.ready >= before && released.ready <= to.now());
    assert_true(released.job.due_ns <= before);
    assert_false(released.waits_for.has_value());
    assert_true(keys_of(to.claim(who, {"whole"})) == texts{"w"});
}

TEST(a_job_that_waited_is_not_ready_before_it_is_due) {
    to.put_many({waits_for("g", "w", minute), of_group("g", "1")});
    const std::int64_t due = to.get("whole", "w")->job.due_ns;
    to.settle(who, outcome_of(claim_part("1"), TW_STORE_END));
    assert_int_equal(to.state_of("whole", "w"), TW_DURABLE_PENDING);
    assert_int_equal(to.get("whole", "w")->ready, due);
}

TEST(a_job_does_not_wait_for_an_empty_group) {
    to.put(waits_for("g", "w"));
    assert_int_equal(to.state_of("whole", "w"), TW_DURABLE_PENDING);
    to.put(of_group("g", "1"));
    assert_int_equal(to.put(waits_for("g", "w"), true), 1);  // keeps the job that no longer waits
    assert_int_equal(to.state_of("whole", "w"), TW_DURABLE_PENDING);
}

TEST(several_jobs_wait_for_a_group_and_form_chains) {
    tw_durable_job second = waits_for("g", "second"), third = waits_for("h", "third");
    second.group = "h";
    to.put_many({third, waits_for("g", "other"), second, of_group("g", "1")});
    to.settle(who, outcome_of(claim_part("1"), TW_STORE_END));
    assert_true(!is_waiting("second") && !is_waiting("other") && is_waiting("third"));
    for (const seen &each : to.claim(who, {"whole"}))
        to.settle(who, outcome_of(each, TW_STORE_END));
    assert_true(keys_of(to.claim(who, {"whole"})) == texts{"third"});
}

TEST(a_job_stays_in_its_group_until_it_ends) {
    to.put_many({of_group("g", "1"), waits_for("g", "w")});
    for (const tw_store_outcome_kind what : {TW_STORE_RELEASE, TW_STORE_MOVE, TW_STORE_FAIL}) {
        to.settle(who, outcome_of(claim_part("1"), what));
        assert_true(is_waiting());
    }
    assert_int_equal(to.count(in_group("g", TW_DURABLE_FAILED)), 1);
    assert_int_equal(to.requeue("part", "1"), 1);
    assert_true(is_waiting());
    const seen held = claim_part("1");
    to.put(of_group("g", "1"));  // the group goes on with the new job, whatever the former one answers
    assert_int_equal(to.settle(who, outcome_of(held, TW_STORE_END)), 0);
    assert_true(is_waiting());
    assert_int_equal(to.put(of_group("h", "1"), true), 1);
    assert_true(is_waiting());
    to.settle(who, outcome_of(claim_part("1"), TW_STORE_END));
    assert_false(is_waiting());
}

TEST(jobs_that_are_removed_or_replaced_leave_their_group) {
    const std::function<void()> ways[] = {[] { to.remove("part", "1"); },
                                          [] { to.change(in_group("g"), TW_STORE_REMOVE); },
                                          [] { to.put("part", "1"); },
                                          [] { to.put(of_group("h", "1")); },
                                          [] {
                                              to.put_many({of_group("h", "1"), of_group("h", "2")});
                                          },
                                          [] { to.put_held(of_group("h", "1"), who); }};
    for (const auto &way : ways) {
        to.put_many({of_group("g", "1"), waits_for("g", "w")});
        assert_true(is_waiting());
        way();
        to.claim(who, {"part"}, 0, 0);  // a store may leave this to the next look from the start
        assert_false(is_waiting());
    }
}

TEST(a_waiting_job_can_be_replaced_removed_and_fired) {
    to.put_many({of_group("g", "1"), of_group("h", "2"), waits_for("g", "w")});
    to.put(waits_for("h", "w"));
    to.remove("part", "1");
    assert_true(is_waiting());
    assert_int_equal(to.put(waits_for("g", "w"), true), 1);
    assert_true(is_waiting());
    const std::int64_t before = to.now();
    assert_int_equal(to.change({}, TW_STORE_FIRE, nullptr), 1);  // the other job is ready
    assert_int_equal(to.state_of("whole", "w"), TW_DURABLE_PENDING);
    assert_true(to.get("whole", "w")->ready >= before && to.get("whole", "w")->ready <= to.now());
    to.put(waits_for("h", "w"));
    assert_true(is_waiting());
    to.put("whole", "w");
    assert_int_equal(to.state_of("whole", "w"), TW_DURABLE_PENDING);
    to.put(waits_for("h", "w"));
    assert_int_equal(to.remove("whole", "w"), 1);
}

TEST(groups_and_waiting_jobs_can_be_listed) {
    to.put_many({of_group("g", "1", 2 * minute), of_group("g", "2", minute), of_group("h", "3"),
                 waits_for("g", "w"), waits_for("h", "v"), job_of("part", "4")});
    assert_true((keys_of(to.list(in_group("g"))) == texts{"1", "2"}));
    assert_true((keys_of(to.list(in_group("g", 0, TW_NO_DEADLINE))) == texts{"2", "1"}));
    assert_true(
        (keys_of(to.list(in_group("g", TW_DURABLE_PENDING, to.now() + minute + second))) == texts{"2"}));
    assert_int_equal(to.count(in_group("g")), 2);
    assert_int_equal(to.count(in_group("none")), 0);
    tw_durable_filter waiting{};
    for (const std::int64_t before : {INT64_C(0), TW_NO_DEADLINE}) {
        waiting.ready_before_ns = before;
        waiting.states = TW_DURABLE_WAITING;
        assert_true((keys_of(to.list(waiting)) == texts{"v", "w"}));
        waiting.states = TW_DURABLE_PENDING;
        assert_int_equal(to.count(waiting), 4);
        waiting.states = TW_DURABLE_WAITING | TW_DURABLE_PENDING;
        assert_int_equal(to.count(waiting), 6);
        waiting.states = 0;
        assert_int_equal(to.count(waiting), 6);
    }
    waiting.ready_before_ns = TW_NO_DEADLINE;  // the second page of waiting jobs, whose ready times are equal
    waiting.states = TW_DURABLE_WAITING;
    waiting.ready_from_ns = TW_NO_DEADLINE;
    waiting.after_kind = "whole";
    waiting.after = "v";
    assert_true((keys_of(to.list(waiting)) == texts{"w"}));
    waiting.ready_before_ns = to.now() + 60 * minute;
    waiting.ready_from_ns = 0;
    waiting.after_kind = waiting.after = nullptr;
    assert_int_equal(to.count(waiting), 0);
}

TEST(waiting_jobs_are_counted_apart_from_pending_ones) {
    to.put_many({of_group("g", "1", minute), waits_for("g", "w"), waits_for("g", "v")});
    struct counted {
        std::uint64_t pending, waiting;
        std::int64_t first;
    };
    std::vector<counted> all;
    const auto add = [](const tw_durable_tally *each, void *arg) {
        static_cast<std::vector<counted> *>(arg)->push_back(
            {each->pending[0] + each->pending[1], each->waiting, each->first_ready_ns});
        return 0;
    };
    const std::int64_t now = to.now();
    assert_int_equal(store().tallies(to.raw(), &now, 1, 0, add, &all), 0);
    assert_int_equal(all.size(), 2);
    assert_true(all[0].pending == 1 && all[0].waiting == 0 && all[0].first == to.get("part", "1")->ready);
    assert_true(all[1].pending == 0 && all[1].waiting == 2 && all[1].first == TW_NO_DEADLINE);
    all.clear();
    assert_int_equal(store().tallies(to.raw(), &now, 1, 1, add, &all), 0);
    assert_int_equal(all.at(1).waiting, 1);
}

TEST(listeners_are_told_of_jobs_that_no_longer_wait) {
    connection ear;
    if (!ear.listens())
        return;
    constexpr std::int64_t patience = 10 * second, while_silent = 100 * ms;
    const std::function<void()> ways[] = {
        [] { to.settle(who, outcome_of(claim_part("1"), TW_STORE_END)); }, [] { to.remove("part", "1"); },
        [] { to.change(in_group("g"), TW_STORE_REMOVE); }, [] { to.put(of_group("h", "1", 60 * minute)); },
        [] {
            to.put_many({of_group("h", "1", 60 * minute), of_group("h", "2", 60 * minute)});
        }};
    for (const auto &way : ways) {
        to.put_many({of_group("g", "1"), waits_for("g", "w")});
        while (ear.notification(while_silent))
            ;
        way();
        const std::optional<std::int64_t> ready = ear.notification(patience);
        assert_true(ready.has_value());
        to.claim(who, {"part"}, 0, 0);
        assert_true(*ready <= to.get("whole", "w")->ready);
    }
}

// --- races -----------------------------------------------------------------------------------

// Runs both functions at the same time. They return false if something went wrong.
bool race(const std::function<bool()> &one, const std::function<bool()> &other) {
    std::atomic<int> ready = 0;
    std::atomic<bool> is_right = true;
    const auto run = [&](const std::function<bool()> &what) {
        ++ready;
        while (ready < 2)
            ;
        if (!what())
            is_right = false;
    };
    std::thread thread(run, one);
    run(other);
    thread.join();
    return is_right;
}

constexpr int rounds = SLOW ? 50 : 200;

bool end_job(connection &by, const tw_store_member &member, const seen &held) {
    tw_store_outcome outcome = outcome_of(held, TW_STORE_END);
    return store().settle(by.raw(), &member, &outcome, 1) == 0 && outcome.matched == 1;
}

TEST(two_last_jobs_that_end_at_once_release_the_waiting_one) {
    connection another;
    const tw_store_member other = another.join();
    for (int i = 0; i < rounds; ++i) {
        to.put_many({of_group("g", "1"), of_group("g", "2"), waits_for("g", "w")});
        const seen one = to.claim(who, {"part"}, 0, 1).at(0),
                   two = another.claim(other, {"part"}, 0, 1).at(0);
        assert_true(
            race([&] { return end_job(to, who, one); }, [&] { return end_job(another, other, two); }));
        assert_int_equal(to.state_of("whole", "w"), TW_DURABLE_PENDING);
    }
}

TEST(a_job_that_is_put_while_its_group_ends_is_released) {
    connection another;
    for (int i = 0; i < rounds; ++i) {
        to.remove("whole", "w");
        to.put(of_group("g", "1"));
        const seen held = claim_part("1");
        assert_true(race([&] { return end_job(to, who, held); },
                         [&] {
                             const tw_durable_job job = waits_for("g", "w");
                             tw_store_put put{};
                             put.job = &job;
                             return store().put(another.raw(), &put, 1, i % 2, nullptr) == 0;
                         }));
        assert_int_equal(to.state_of("whole", "w"), TW_DURABLE_PENDING);
    }
}

// A job is not released early if it is replaced together with new jobs of its group.
TEST(a_new_group_is_not_released_by_the_end_of_the_former_one) {
    connection another;
    for (int i = 0; i < rounds; ++i) {
        to.put_many({of_group("g", "1"), waits_for("g", "w")});
        const seen held = claim_part("1");
        assert_true(race([&] { return end_job(to, who, held); },
                         [&] {
                             const tw_durable_job jobs[] = {of_group("g", "2"), waits_for("g", "w")};
                             tw_store_put puts[2] = {};
                             puts[0].job = &jobs[0];
                             puts[1].job = &jobs[1];
                             return store().put(another.raw(), puts, 2, 0, nullptr) == 0;
                         }));
        assert_true(is_waiting());
        to.remove("part", "2");
        assert_false(is_waiting());
    }
}

// --- puts with an end --------------------------------------------------------------------------

tw_durable_job within(std::int64_t end, std::int64_t delay, const char *payload = "") {
    tw_durable_job job = job_of("save", "17", delay);
    job.within_ns = end;
    job.payload = payload;
    job.size = std::strlen(payload);
    return job;
}

std::int64_t due() { return to.get("save", "17")->job.due_ns; }

TEST(puts_with_an_end_move_the_due_time_no_further) {
    const std::int64_t begun = to.now();
    to.put(within(10 * second, 4 * second));
    const std::int64_t first = due(), end = first + 6 * second;
    assert_true(first >= begun + 4 * second && first <= to.now() + 4 * second);
    pass(10 * ms);
    to.put(within(10 * second, 4 * second));
    assert_true(due() >= first + 10 * ms);
    for (const std::int64_t delay : {20 * second, 60 * minute}) {
        to.put(within(10 * second, delay, "new"));
        assert_true(due() >= end - ms && due() <= end + ms);
        assert_int_equal(to.get("save", "17")->ready, due());
        assert_string_equal(to.get("save", "17")->payload.c_str(), "new");
    }
    to.put_many({within(60 * minute, 60 * minute), job_of("save", "18")});  // a later end does not count
    assert_true(due() >= end - ms && due() <= end + ms);
    to.put(within(10 * second, second));
    assert_true(due() < end - 4 * second);
}

TEST(an_end_bounds_the_first_put_and_a_time) {
    to.put(within(10 * second, minute));
    assert_true(due() <= to.now() + 10 * second);
    tw_durable_job job = within(10 * second, to.now() + 60 * minute);
    job.absolute = 1;
    to.put(job);
    assert_true(due() <= to.now() + 10 * second);
}

TEST(puts_without_an_end_of_the_former_or_the_new_job_are_free) {
    to.put(within(10 * second, second));
    to.put(job_of("save", "17", minute));
    assert_true(due() > to.now() + 50 * second);
    to.put(within(10 * minute, 5 * minute));
    assert_true(due() > to.now() + 4 * minute);
}

TEST(an_end_is_kept_while_the_job_is_held_but_not_once_it_has_started) {
    to.put(within(10 * second, second));
    const std::int64_t end = due() + 9 * second;
    assert_int_equal(to.claim(who, {"save"}, minute).size(), 1);
    const tw_durable_job again = within(10 * second, minute);
    const tw_store_put held = to.put_held(again, who);
    assert_true(held.token != 0 && held.ready_ns == due() && due() <= end + ms);
    to.put(within(10 * second, 0));
    assert_int_equal(to.claim(who, {"save"}).at(0).state, TW_DURABLE_STARTED);
    to.put(within(30 * second, 30 * second));
    assert_true(due() > end + 10 * second);
}

TEST(an_end_that_has_passed_makes_the_job_ready) {
    to.put(within(20 * ms, 10 * ms));
    pass(50 * ms);
    const tw_durable_job late = within(20 * ms, minute);
    const tw_store_put held = to.put_held(late, who);
    assert_true(held.token != 0 && held.started == 1 && held.ready_ns <= to.now());
}

TEST(an_answer_removes_the_end) {
    for (const bool has_failed : {false, true}) {
        to.put(within(10 * second, 0));
        const seen held = to.claim(who, {"save"}).at(0);
        tw_store_outcome outcome = outcome_of(held, has_failed ? TW_STORE_FAIL : TW_STORE_MOVE);
        outcome.due_ns = held.job.due_ns;
        outcome.ready_ns = held.ready + second;
        outcome.attempts = has_failed ? 1 : 0;
        to.settle(who, outcome);
        to.put(within(minute, minute));
        assert_true(due() > to.now() + 50 * second);
        to.remove("save", "17");
    }
}

TEST(a_waiting_job_has_an_end_of_its_due_time) {
    to.put(of_group("g", "1"));
    tw_durable_job job = within(10 * second, 5 * second);
    job.waits_for = "g";
    to.put(job);
    job.due_ns = minute;
    to.put(job);
    assert_int_equal(to.state_of("save", "17"), TW_DURABLE_WAITING);
    to.remove("part", "1");
    assert_true(to.get("save", "17")->ready <= to.now() + 10 * second);
}

}  // namespace

}  // namespace tickwheel::durable::tests
