// What people look at: lists by ready time, tallies, members; and changes of all jobs that a filter selects.
#include <algorithm>

#include "store_test.hpp"

namespace tickwheel::durable::tests {
namespace {

FIXTURE(begin_test, end_test);

tw_durable_filter ready_before(std::int64_t time, const char *kind = nullptr, unsigned states = 0) {
    tw_durable_filter filter{};
    filter.kind = kind;
    filter.states = states;
    filter.ready_before_ns = time;
    return filter;
}

// Lists in pages of two, each of which continues after the last job of the one before.
std::vector<std::string> paged(tw_durable_filter filter) {
    std::vector<std::string> keys;
    std::string kind, key;
    filter.limit = 2;
    for (;;) {
        const std::vector<seen> page = to.list(filter);
        assert_true(page.size() <= 2);
        if (page.empty())
            return keys;
        for (const seen &each : page)
            keys.push_back(each.key);
        kind = page.back().kind;
        key = page.back().key;
        filter.after_kind = filter.kind == nullptr ? kind.c_str() : nullptr;
        filter.after = key.c_str();
        if (filter.ready_before_ns != 0)
            filter.ready_from_ns = page.back().ready;
    }
}

using texts = std::vector<std::string>;

tw_durable_job at(const char *kind, const char *key, std::int64_t time) {
    tw_durable_job job = job_of(kind, key, time);
    job.absolute = 1;
    return job;
}

// Jobs of two kinds, three of them ready at the same time, and a time at which two of them are ready.
std::int64_t put_some() {
    const std::int64_t now = to.now() / us * us;
    to.put_many({at("b", "4", now + 3 * minute), at("a", "3", now + 2 * minute),
                 at("b", "1", now + 2 * minute), at("b", "2", now + 2 * minute),
                 at("a", "5", now + 9 * minute), at("b", "0", now + minute)});
    return now;
}

TEST(a_list_by_ready_time_ends_before_a_time) {
    const std::int64_t now = put_some();
    assert_true((keys_of(to.list(ready_before(TW_NO_DEADLINE))) == texts{"0", "3", "1", "2", "4", "5"}));
    assert_true((keys_of(to.list(ready_before(now + 2 * minute))) == texts{"0"}));
    assert_true((keys_of(to.list(ready_before(now + 2 * minute + us, "b"))) == texts{"0", "1", "2"}));
    assert_int_equal(to.count(ready_before(now + 2 * minute + us)), 4);
    tw_durable_filter some = ready_before(TW_NO_DEADLINE);
    some.ready_from_ns = now + 2 * minute;
    some.limit = 4;
    assert_true((keys_of(to.list(some)) == texts{"3", "1", "2", "4"}));
    assert_int_equal(to.count(some), 4);
}

TEST(pages_go_on_where_the_last_one_ended) {
    put_some();
    assert_true((paged(ready_before(TW_NO_DEADLINE)) == texts{"0", "3", "1", "2", "4", "5"}));
    assert_true((paged(ready_before(TW_NO_DEADLINE, "b")) == texts{"0", "1", "2", "4"}));
    assert_true((paged({}) == texts{"3", "5", "0", "1", "2", "4"}));
    tw_durable_filter pending{};
    pending.states = TW_DURABLE_PENDING;
    assert_true((paged(pending) == texts{"3", "5", "0", "1", "2", "4"}));
}

// One job in each state. Returns the time before which all are ready but the periodic one.
std::int64_t put_each_state() {
    to.put("a", "failed");
    const seen bad = to.claim(who, {"a"}).at(0);
    tw_store_outcome outcome = outcome_of(bad, TW_STORE_FAIL);
    outcome.error = "no paper";
    outcome.attempts = 3;
    to.settle(who, outcome);
    tw_durable_job periodic = job_of("b", "given up");
    periodic.period_ns = minute;
    to.put(periodic);
    const seen tried = to.claim(who, {"b"}).at(0);
    outcome = outcome_of(tried, TW_STORE_MOVE);
    outcome.error = "no ink";
    outcome.due_ns = outcome.ready_ns = tried.job.due_ns + minute;
    to.settle(who, outcome);
    to.put("c", "started");
    to.put("c", "held", 5 * second);
    assert_int_equal(to.claim(who, {"c"}, 30 * second).size(), 2);
    to.put("c", "pending");
    return to.now() + 10 * second;
}

TEST(a_list_by_ready_time_is_of_some_states) {
    const std::int64_t soon = put_each_state();
    for (const auto &[states, keys] : std::vector<std::pair<unsigned, texts>>{
             {TW_DURABLE_FAILED, {"failed"}},
             {TW_DURABLE_STARTED, {"started"}},
             {TW_DURABLE_HELD, {"held"}},
             {TW_DURABLE_PENDING, {"pending"}},
             {TW_DURABLE_STARTED | TW_DURABLE_HELD, {"started", "held"}},
             {TW_DURABLE_FAILED | TW_DURABLE_PENDING, {"failed", "pending"}},
             {TW_DURABLE_GIVEN_UP, {}}}) {
        assert_true(keys_of(to.list(ready_before(soon, nullptr, states))) == keys);
        assert_int_equal(to.count(ready_before(soon, nullptr, states)), keys.size());
    }
}

TEST(a_periodic_job_whose_last_try_has_failed_is_given_up) {
    put_each_state();
    tw_durable_filter filter{};
    for (const std::int64_t before : {INT64_C(0), TW_NO_DEADLINE}) {
        filter.ready_before_ns = before;
        filter.states = TW_DURABLE_GIVEN_UP;
        assert_true(keys_of(to.list(filter)) == texts{"given up"});
        assert_int_equal(to.count(filter), 1);
        filter.states = TW_DURABLE_PENDING;
        assert_true(keys_of(to.list(filter)) == texts{"pending"});
        filter.states = TW_DURABLE_PENDING | TW_DURABLE_GIVEN_UP;
        assert_int_equal(to.count(filter), 2);
    }
    assert_int_equal(to.state_of("b", "given up"), TW_DURABLE_GIVEN_UP);
    const seen held = to.claim(who, {"b"}, 10 * minute).at(0);  // for a member it is like any other
    tw_store_outcome outcome = outcome_of(held, TW_STORE_MOVE);
    outcome.error = "no ink";
    outcome.attempts = 1;
    outcome.ready_ns = held.ready + minute;
    to.settle(who, outcome);
    assert_int_equal(to.state_of("b", "given up"), TW_DURABLE_PENDING);  // waits for its next try
    assert_int_equal(to.settle(who, outcome_of(to.claim(who, {"b"}, 10 * minute).at(0), TW_STORE_MOVE)), 1);
    assert_int_equal(to.state_of("b", "given up"), TW_DURABLE_PENDING);  // that try has succeeded
}

// --- tallies -------------------------------------------------------------------------------------

struct counted {
    std::string kind;
    std::uint64_t held, started, failed, given_up;
    std::int64_t first;
    std::vector<std::uint64_t> pending;
};

std::vector<counted> tallies(const std::vector<std::int64_t> &times, std::uint64_t most = 0) {
    struct context {
        std::size_t count;
        std::vector<counted> all;
    } found{times.size() + 1, {}};
    const auto add = [](const tw_durable_tally *each, void *arg) {
        auto &of = *static_cast<context *>(arg);
        of.all.push_back({each->kind, each->held, each->started, each->failed, each->given_up,
                          each->first_ready_ns,
                          std::vector<std::uint64_t>(each->pending, each->pending + of.count)});
        return 0;
    };
    assert_int_equal(store().tallies(to.raw(), times.data(), times.size(), most, add, &found), 0);
    return found.all;
}

TEST(nothing_has_no_tally) { assert_true(tallies({to.now()}).empty()); }

TEST(a_tally_counts_by_state) {
    put_each_state();
    const std::vector<counted> all = tallies({});
    assert_int_equal(all.size(), 3);
    assert_string_equal(all[0].kind.c_str(), "a");
    assert_true(all[0].failed == 1 && all[0].pending == std::vector<std::uint64_t>{0});
    assert_true(all[0].first == TW_NO_DEADLINE);
    assert_true(all[1].given_up == 1 && all[1].pending == std::vector<std::uint64_t>{1});
    assert_true(all[1].first == to.get("b", "given up")->ready);
    assert_true(all[2].held == 1 && all[2].started == 1 && all[2].failed == 0 && all[2].given_up == 0);
    assert_true(all[2].pending == std::vector<std::uint64_t>{1});
}

TEST(a_tally_counts_by_ready_time) {
    const std::int64_t now = put_some();
    const std::vector<counted> all = tallies({now + 2 * minute, now + 3 * minute + us});
    assert_int_equal(all.size(), 2);
    assert_true((all[0].pending == std::vector<std::uint64_t>{0, 1, 1}));
    assert_true((all[1].pending == std::vector<std::uint64_t>{1, 3, 0}));
    assert_true(all[1].first == now + minute);
    assert_true((tallies({now + 2 * minute, now + 3 * minute + us}, 2)[1].pending ==
                 std::vector<std::uint64_t>{1, 2, 0}));
}

// --- members -------------------------------------------------------------------------------------

struct told {
    std::int64_t id, joined, lease_end, offset;
    std::string name;
    std::uint64_t held, started;
    bool dead, knows;
    texts kinds;
};

// The member `who`, and those that have joined after it.
std::vector<told> members() {
    std::vector<told> all;
    const auto add = [](const tw_durable_member *each, void *arg) {
        if (each->id < who.id)
            return 0;
        static_cast<std::vector<told> *>(arg)->push_back(
            {each->id, each->joined_ns, each->lease_end_ns, each->clock_offset_ns, each->name, each->held,
             each->started, each->dead != 0, each->knows_kinds != 0,
             texts(each->kinds, each->kinds + each->kinds_count)});
        return 0;
    };
    assert_int_equal(store().members(to.raw(), add, &all), 0);
    return all;
}

TEST(members_tell_who_they_are) {
    const std::int64_t before = to.now();
    const tw_store_member other = to.join("other", minute);
    const texts kinds = {"mail", "a, \"b\"", "{\xc3\xa9}\\", "NULL"};
    std::vector<const char *> pointers;
    for (const std::string &each : kinds)
        pointers.push_back(each.c_str());
    assert_int_equal(store().announce(to.raw(), &other, pointers.data(), pointers.size(), -3 * second), 0);
    to.put("mail", "1");
    to.put("mail", "2", 5 * second);
    to.put("mail", "3", 5 * second);
    assert_int_equal(to.claim(other, {"mail"}, minute).size(), 3);
    const std::vector<told> all = members();
    assert_int_equal(all.size(), 2);
    assert_string_equal(all[0].name.c_str(), "the holder");
    assert_true(all[0].id == who.id && !all[0].knows && all[0].kinds.empty() && all[0].held == 0);
    assert_true(all[1].id == other.id && all[1].knows && all[1].kinds == kinds &&
                all[1].offset == -3 * second);
    assert_true(all[1].held == 2 && all[1].started == 1 && !all[1].dead);
    assert_true(all[1].joined >= before - us && all[1].lease_end >= before + minute &&
                all[1].joined < all[1].lease_end);
}

TEST(a_dead_member_is_told_until_its_jobs_are_released) {
    to.put("mail", "1");
    to.put("mail", "2");
    to.claim(who, {"mail"});
    to.end_lease(who);
    assert_int_equal(to.bury(1), 1);
    const std::vector<told> all = members();
    assert_true(all.size() == 1 && all[0].dead && all[0].started == 1);
    const char *const kind = "mail";
    assert_int_equal(store().announce(to.raw(), &who, &kind, 1, 0), -ESTALE);
    assert_int_equal(to.bury(), 1);
    assert_true(members().empty());
}

TEST(a_member_of_a_former_epoch_announces_nothing) {
    const tw_store_member former = who;
    assert_int_equal(to.resume(who), 0);
    assert_int_equal(store().announce(to.raw(), &former, nullptr, 0, 0), -ESTALE);
    assert_int_equal(store().announce(to.raw(), &who, nullptr, 0, 0), 0);
    assert_true(members().at(0).knows);
}

// --- changes -------------------------------------------------------------------------------------

std::int64_t change(const tw_durable_filter &filter, tw_store_change what, const char *key = nullptr) {
    return to.change(filter, what, key);
}

std::int64_t fire(const char *kind, const char *key) {
    tw_durable_filter filter{};
    filter.kind = kind;
    return change(filter, TW_STORE_FIRE, key);
}

TEST(a_change_removes_what_a_filter_selects) {
    const std::int64_t now = put_some();
    tw_durable_filter some = ready_before(now + 2 * minute + us, "b");
    some.limit = 2;
    assert_int_equal(change(some, TW_STORE_REMOVE), 2);
    assert_int_equal(change(some, TW_STORE_REMOVE), 1);
    assert_int_equal(change(some, TW_STORE_REMOVE), 0);
    assert_true((keys_of(to.list()) == texts{"3", "5", "4"}));
    put_each_state();
    for (const unsigned each :
         {TW_DURABLE_STARTED, TW_DURABLE_HELD, TW_DURABLE_FAILED, TW_DURABLE_GIVEN_UP}) {
        tw_durable_filter of{};
        of.states = each;
        assert_int_equal(change(of, TW_STORE_REMOVE), 1);
    }
    assert_int_equal(change({}, TW_STORE_REMOVE), 4);
    assert_int_equal(to.count(), 0);
}

TEST(a_change_shows_the_jobs_as_they_were_in_their_order) {
    put_each_state();
    std::vector<changed_job> all;
    const std::vector<seen> before = to.list();
    assert_int_equal(to.change({}, TW_STORE_FIRE, nullptr, &all), 3);
    assert_int_equal(all.size(), before.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
        const seen &job = before[i];
        assert_true(all[i].job.kind == job.kind && all[i].job.key == job.key);
        assert_true(all[i].job.ready == job.ready && all[i].job.token == job.token);
        assert_int_equal(all[i].job.state == TW_DURABLE_STARTED, job.state == TW_DURABLE_STARTED);
        assert_int_equal(all[i].changed, job.key != "started" && job.key != "pending");
    }
}

TEST(a_fire_makes_a_job_ready_now) {
    const std::int64_t before = to.now();
    to.put("mail", "17", 60 * minute);
    const std::int64_t due = to.get("mail", "17")->job.due_ns;
    assert_int_equal(fire("mail", "17"), 1);
    const seen fired = to.claim(who, {"mail"}).at(0);
    assert_true(fired.ready >= before - us && fired.ready <= to.now());
    assert_true(fired.job.due_ns == due);
    assert_int_equal(fire("mail", "17"), 0);  // it is started
    assert_int_equal(to.state_of("mail", "17"), TW_DURABLE_STARTED);
    assert_int_equal(fire("mail", "18"), 0);
    assert_int_equal(fire("none", "17"), 0);
}

TEST(a_fire_takes_a_held_job_from_its_member) {
    to.put("mail", "17", 5 * second);
    const seen held = to.claim(who, {"mail"}, minute).at(0);
    assert_int_equal(fire("mail", "17"), 1);
    assert_int_equal(to.state_of("mail", "17"), TW_DURABLE_PENDING);
    assert_true(to.start(who, held).ready_ns == TW_NO_DEADLINE);
    assert_int_equal(to.claim(who, {"mail"}).size(), 1);
}

TEST(a_fire_of_a_failed_job_requeues_it) {
    put_each_state();
    assert_int_equal(fire("a", "failed"), 1);
    const seen again = to.get("a", "failed").value();
    assert_int_equal(again.state, TW_DURABLE_PENDING);
    assert_true(again.ready <= to.now() && again.attempts == 0 && !again.error.has_value());
}

TEST(a_fire_of_a_job_that_waits_for_its_next_try_keeps_the_tries) {
    to.put("mail", "17");
    const seen held = to.claim(who, {"mail"}).at(0);
    tw_store_outcome outcome = outcome_of(held, TW_STORE_MOVE);
    outcome.attempts = 2;
    outcome.error = "no ink";
    outcome.ready_ns = to.now() / us * us + 60 * minute;
    to.settle(who, outcome);
    const std::int64_t due = to.get("mail", "17")->job.due_ns;
    assert_int_equal(fire("mail", "17"), 1);
    const seen again = to.get("mail", "17").value();
    assert_true(again.attempts == 2 && again.error == "no ink" && again.job.due_ns == due);
    assert_int_equal(to.claim(who, {"mail"}).size(), 1);
}

// The next due time after the fire is the one for which the job was waiting.
TEST(a_fire_of_a_periodic_job_keeps_its_schedule) {
    const std::int64_t now = to.now() / us * us;
    tw_durable_job job = at("mail", "period", now + 25 * minute);
    job.period_ns = 10 * minute;
    to.put(job);
    job = at("mail", "cron", now + 25 * minute);
    job.cron = "0 0 1 1 *";
    to.put(job);
    assert_int_equal(fire("mail", "period"), 1);
    assert_int_equal(fire("mail", "cron"), 1);
    assert_true(to.get("mail", "period")->job.due_ns == now + 15 * minute);
    const seen cron = to.get("mail", "cron").value();
    assert_true(cron.job.due_ns == cron.ready - us && cron.ready >= now);
    assert_int_equal(to.claim(who, {"mail"}).size(), 2);
}

TEST(a_fire_tells_other_connections) {
    connection other;
    if (!other.listens())
        skip();
    to.put("mail", "17", 60 * minute);
    while (other.notification(0)) {
    }
    assert_int_equal(fire("mail", "17"), 1);
    assert_true(other.notification(20 * second).has_value());
}

}  // namespace

}  // namespace tickwheel::durable::tests
