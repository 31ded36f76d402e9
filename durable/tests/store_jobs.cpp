// Putting and removing.
#include "store_test.hpp"

namespace tickwheel::durable::tests {
namespace {

const char *const hostile_names[] = {
    "'",
    "\"",
    "'; drop table tickwheel_job; --",
    "\\",
    "\\'",
    "%",
    "%s%n",
    "_",
    "*",
    "$1",
    "?1",
    "{\"a\",NULL}",
    "NULL",
    " ",
    "\t\n\r\x01\x1f\x7f",
    "\xf0\x9f\x95\xb0\xef\xb8\x8f",
    "\xc3\xa9 or e\xcc\x81",
    "Key",
    "key",
    "\xf4\x8f\xbf\xbf",
};

// --- putting ---------------------------------------------------------------------------------

FIXTURE(begin_test, end_test);

TEST(a_new_job_is_pending) {
    const std::int64_t before = to.now();
    assert_int_equal(to.put("mail", "17", minute), 0);
    const seen found = to.get("mail", "17").value();
    assert_int_equal(found.state, TW_DURABLE_PENDING);
    assert_int_equal(found.attempts, 0);
    assert_int_equal(found.token, 0);
    assert_false(found.holder.has_value());
    assert_false(found.error.has_value());
    assert_int_equal(found.ready, found.job.due_ns);
    assert_true(found.ready >= before + minute && found.ready <= to.now() + minute);
}

TEST(all_that_a_job_has_is_kept) {
    tw_durable_job job = job_of("mail", "17", 1'800'000'000 * second + us);
    job.absolute = 1;
    job.payload = "body";
    job.size = 4;
    job.cron = "30 4 * * 1-5";
    job.zone = "Europe/Berlin";
    job.missed = TW_DURABLE_SKIP;
    job.grace_ns = 7 * second + us;
    assert_int_equal(to.put(job), 0);
    const seen found = to.get("mail", "17").value();
    assert_string_equal(found.payload.c_str(), "body");
    assert_string_equal(found.cron.value_or("").c_str(), "30 4 * * 1-5");
    assert_string_equal(found.zone.value_or("").c_str(), "Europe/Berlin");
    assert_int_equal(found.job.missed, TW_DURABLE_SKIP);
    assert_int_equal(found.job.grace_ns, 7 * second + us);
    assert_int_equal(found.job.due_ns, job.due_ns);
    assert_int_equal(found.job.period_ns, 0);
    assert_true(found.job.absolute);
}

TEST(a_period_is_kept) {
    tw_durable_job job = job_of("mail", "17");
    job.period_ns = 365 * 24 * 60 * minute + us;
    job.missed = TW_DURABLE_BURST;
    to.put(job);
    const seen found = to.get("mail", "17").value();
    assert_int_equal(found.job.period_ns, job.period_ns);
    assert_int_equal(found.job.missed, TW_DURABLE_BURST);
    assert_false(found.cron.has_value());
    assert_false(found.zone.has_value());
}

TEST(a_delay_rounds_up_to_microseconds) {
    const std::int64_t before = to.now();
    to.put("mail", "17", minute + 1);
    const std::int64_t due = to.get("mail", "17")->job.due_ns;
    assert_int_equal(due % us, 0);
    assert_true(due >= before + minute + us);
}

TEST(the_last_time_can_be_kept) {
    tw_durable_job job = job_of("mail", "absolute", TW_STORE_TIME_MAX);
    job.absolute = 1;
    to.put(job);
    to.put(job_of("mail", "delay", TW_STORE_TIME_MAX));
    assert_int_equal(to.get("mail", "absolute")->ready, TW_STORE_TIME_MAX);
    assert_int_equal(to.get("mail", "delay")->ready, TW_STORE_TIME_MAX);
}

TEST(a_put_replaces_a_job) {
    tw_durable_job job = job_of("mail", "17");
    job.payload = "one";
    job.size = 3;
    job.cron = "* * * * *";
    to.put(job);
    to.put("mail", "17", minute);
    const seen found = to.get("mail", "17").value();
    assert_string_equal(found.payload.c_str(), "");
    assert_false(found.cron.has_value());
    assert_int_equal(to.count(), 1);
}

TEST(a_put_that_keeps_changes_nothing) {
    assert_int_equal(to.put_keep("mail", "17", minute), 0);
    const std::int64_t due = to.get("mail", "17")->job.due_ns;
    assert_int_equal(to.put_keep("mail", "17", 0), 1);
    assert_int_equal(to.get("mail", "17")->job.due_ns, due);
}

TEST(a_put_that_replaces_takes_a_job_from_its_holder) {
    to.put("mail", "17");
    const seen held = to.claim(who, {"mail"}).at(0);
    to.put("mail", "17", minute);
    const seen found = to.get("mail", "17").value();
    assert_int_equal(found.state, TW_DURABLE_PENDING);
    assert_false(found.holder.has_value());
    assert_int_equal(found.token, held.token);
    assert_int_equal(to.settle(who, outcome_of(held, TW_STORE_END)), 0);
}

TEST(a_put_that_keeps_leaves_a_job_with_its_holder) {
    to.put("mail", "17");
    const seen held = to.claim(who, {"mail"}).at(0);
    assert_int_equal(to.put_keep("mail", "17"), 1);
    assert_int_equal(to.state_of("mail", "17"), TW_DURABLE_STARTED);
    assert_int_equal(to.settle(who, outcome_of(held, TW_STORE_END)), 1);
}

TEST(of_several_of_one_name_the_last_stays) {
    const tw_durable_job jobs[] = {job_of("mail", "17", minute), job_of("mail", "18", minute),
                                   job_of("mail", "17", 3 * minute)};
    to.put_many({std::begin(jobs), std::end(jobs)});
    assert_true(to.get("mail", "17")->ready > to.now() + 2 * minute);
    assert_int_equal(to.count(), 2);
}

TEST(of_several_of_one_name_the_first_is_kept) {
    const std::vector<int> existed =
        to.put_many({job_of("mail", "17", minute), job_of("mail", "17", 3 * minute)}, true);
    assert_true((existed == std::vector<int>{0, 1}));
    assert_true(to.get("mail", "17")->ready < to.now() + 2 * minute);
    assert_true(to.put_many({}).empty());
    assert_int_equal(to.put("bill", "17"), 0);
    assert_int_equal(to.count(), 2);
}

// --- names and payloads ----------------------------------------------------------------------

// Puts, finds, claims and removes a job of this name.
void assert_name_is_safe(const std::string &kind, const std::string &key) {
    assert_int_equal(to.put(kind, key), 0);
    assert_int_equal(to.put_keep(kind, key), 1);
    const seen found = to.get(kind, key).value();
    assert_true(found.kind == kind && found.key == key);
    const std::vector<seen> claimed = to.claim(who, {kind.c_str()});
    assert_int_equal(claimed.size(), 1);
    assert_true(claimed[0].kind == kind && claimed[0].key == key);
    tw_store_outcome outcome = outcome_of(claimed[0], TW_STORE_FAIL);
    outcome.error = key.c_str();
    assert_int_equal(to.settle(who, outcome), 1);
    assert_true(to.get(kind, key)->error == key);
    assert_int_equal(to.requeue(kind.c_str(), key.c_str()), 1);
    assert_int_equal(to.remove(kind, key), 1);
    assert_int_equal(to.remove(kind, key), -ENOENT);
}

TEST(hostile_names_are_names_like_others) {
    for (const char *const each : hostile_names)
        assert_name_is_safe(each, each);
    assert_int_equal(to.count(), 0);
    for (const char *const each : hostile_names)
        assert_int_equal(to.put("mail", each), 0);
    assert_int_equal(to.count(), COUNT_OF(hostile_names));  // all are different
}

TEST(long_names_are_kept_whole) {
    const std::string one(TW_DURABLE_NAME_MAX, 'x'), other = one.substr(1) + 'y';
    assert_name_is_safe(one, one);
    assert_int_equal(to.put(one, one), 0);
    assert_int_equal(to.put(one, other), 0);
    assert_int_equal(to.put(other, one), 0);
    assert_int_equal(to.count(), 3);
}

void assert_payload_is_kept(const std::string &payload) {
    tw_durable_job job = job_of("mail", "17");
    job.payload = payload.empty() ? nullptr : payload.data();
    job.size = payload.size();
    to.put(job);
    assert_true(to.get("mail", "17")->payload == payload);
    assert_true(to.claim(who, {"mail"}).at(0).payload == payload);
    to.leave(who);
    who = to.join();
    to.remove("mail", "17");
}

TEST(payloads_are_kept_as_they_are) {
    std::string every_byte;
    for (int value = 0; value < 256; ++value)
        every_byte.push_back(static_cast<char>(value));
    std::string largest;
    while (largest.size() < TW_DURABLE_PAYLOAD_MAX)
        largest += every_byte;
    for (const std::string &each : {std::string(), std::string(1, '\0'), every_byte, largest})
        assert_payload_is_kept(each);
}

// --- removing --------------------------------------------------------------------------------

TEST(a_pending_job_is_removed_by_its_name_alone) {
    to.put("mail", "17");
    assert_int_equal(to.remove("mail", "18"), -ENOENT);
    assert_int_equal(to.remove("bill", "17"), -ENOENT);
    assert_int_equal(to.count(), 1);
    assert_int_equal(to.remove("mail", "17"), 1);
    assert_false(to.get("mail", "17").has_value());
}

TEST(a_held_job_is_removed_before_it_starts) {
    to.put("mail", "17", 5 * second);
    const seen held = to.claim(who, {"mail"}, minute).at(0);
    assert_int_equal(held.state, TW_DURABLE_HELD);
    assert_int_equal(to.remove("mail", "17"), 1);
    assert_false(to.start(who, held).started);
}

TEST(a_started_job_is_removed_too_late) {
    to.put("mail", "17");
    const seen held = to.claim(who, {"mail"}).at(0);
    assert_int_equal(held.state, TW_DURABLE_STARTED);
    assert_int_equal(to.remove("mail", "17"), 0);
    assert_false(to.get("mail", "17").has_value());
    assert_int_equal(to.settle(who, outcome_of(held, TW_STORE_RELEASE)), 0);
    assert_int_equal(to.count(), 0);
}

// --- requeueing ------------------------------------------------------------------------------

// Puts a job and settles it as failed.
void put_failed(const char *kind, const char *key) {
    to.put(kind, key);
    const seen held = to.claim(who, {kind}).at(0);
    tw_store_outcome outcome = outcome_of(held, TW_STORE_FAIL);
    outcome.attempts = 20;
    outcome.error = "no such address";
    assert_int_equal(to.settle(who, outcome), 1);
}

TEST(a_requeued_job_is_ready_with_all_its_tries) {
    put_failed("mail", "17");
    const seen failed = to.get("mail", "17").value();
    pass(ms);
    const std::int64_t before = to.now();
    assert_int_equal(to.requeue("mail", "17"), 1);
    const seen found = to.get("mail", "17").value();
    assert_int_equal(found.state, TW_DURABLE_PENDING);
    assert_int_equal(found.attempts, 0);
    assert_false(found.error.has_value());
    assert_true(found.ready >= before && found.ready <= to.now());
    assert_int_equal(found.job.due_ns, failed.job.due_ns);
    assert_int_equal(to.claim(who, {"mail"}).size(), 1);
}

TEST(only_failed_jobs_are_requeued) {
    to.put("mail", "held");
    to.claim(who, {"mail"});
    to.put("mail", "pending", minute);
    const std::int64_t ready = to.get("mail", "pending")->ready;
    assert_int_equal(to.requeue(), 0);
    assert_int_equal(to.requeue("mail", "held"), 0);
    assert_int_equal(to.requeue("mail", "none"), 0);
    assert_int_equal(to.get("mail", "pending")->ready, ready);
    assert_int_equal(to.state_of("mail", "held"), TW_DURABLE_STARTED);
}

TEST(all_failed_jobs_of_a_kind_are_requeued) {
    put_failed("mail", "17");
    put_failed("mail", "18");
    put_failed("bill", "17");
    assert_int_equal(to.requeue("mail"), 2);
    assert_int_equal(to.state_of("bill", "17"), TW_DURABLE_FAILED);
    put_failed("call", "17");
    assert_int_equal(to.requeue(), 2);
    assert_int_equal(to.requeue(), 0);
}

TEST(a_failed_job_can_be_replaced_and_removed) {
    put_failed("mail", "17");
    assert_int_equal(to.put_keep("mail", "17"), 1);
    assert_int_equal(to.state_of("mail", "17"), TW_DURABLE_FAILED);
    to.put("mail", "17");
    const seen found = to.get("mail", "17").value();
    assert_int_equal(found.state, TW_DURABLE_PENDING);
    assert_int_equal(found.attempts, 0);
    assert_false(found.error.has_value());
    put_failed("bill", "17");
    assert_int_equal(to.remove("bill", "17"), 1);
}

TEST(the_jobs_of_two_schemas_are_apart) {
    to.put("mail", "17");
    name_schema();
    connection other;
    assert_int_equal(other.count(), 0);
    assert_int_equal(other.put("mail", "17"), 0);
    other.remove("mail", "17");
    assert_int_equal(to.count(), 1);
}

TEST(what_must_exist_is_not_created) {
    void *raw = nullptr;
    std::string why;
    name_schema();
    assert_int_equal(connection::try_to_open(true, raw, why), -ENOENT);
    assert_false(why.empty());
    connection creating;
    creating.put("mail", "17");
    assert_int_equal(connection::try_to_open(true, raw, why), 0);
    const tw_durable_filter all = {};
    assert_int_equal(store().count(raw, &all), 1);
    store().close(raw);
}

}  // namespace

}  // namespace tickwheel::durable::tests
