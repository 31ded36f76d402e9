// The suite that every store must pass: durable_store [ADDRESS [TEST]]. A program that tests another store
// defines store_for_tests; memory/store_for_tests.cpp is an example.
//
//     durable_store memory:any
//     durable_store sqlite::memory:
//     durable_store sqlite:/tmp/jobs.db
//     durable_store 'postgresql:///postgres?host=/tmp/server'
//
// The suite leaves its tables behind, in schemas whose names begin with "suite_".
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <ctime>

#include "store_test.hpp"

namespace tickwheel::durable::tests {

namespace {

const char *address = "memory:suite";
std::string schema;
std::atomic<std::int64_t> local_time{1'000'000 * second};

std::int64_t local_now(void *) { return local_time; }

bool time_is_virtual() { return std::strstr(address, "memory:") != nullptr; }

std::int64_t steady_now() {
    timespec read{};
    clock_gettime(CLOCK_MONOTONIC, &read);
    return read.tv_sec * second + read.tv_nsec;
}

// Advances the local clock a little, and sleeps if the database runs in real time.
void pass_some() {
    local_time += ms;
    const timespec some{.tv_sec = 0, .tv_nsec = ms};
    if (!time_is_virtual())
        nanosleep(&some, nullptr);
}

std::optional<std::string> copy_of(const char *text) {
    return text != nullptr ? std::optional<std::string>(text) : std::nullopt;
}

seen copy_of(const tw_durable_entry &entry) {
    seen copy;
    copy.kind = entry.job.kind;
    copy.key = entry.job.key;
    if (entry.job.size != 0)
        copy.payload.assign(static_cast<const char *>(entry.job.payload), entry.job.size);
    copy.job = entry.job;
    copy.cron = copy_of(entry.job.cron);
    copy.zone = copy_of(entry.job.zone);
    copy.holder = copy_of(entry.holder);
    copy.holder_id = entry.holder_id;
    copy.error = copy_of(entry.error);
    copy.group = copy_of(entry.job.group);
    copy.waits_for = copy_of(entry.job.waits_for);
    copy.state = entry.state;
    copy.ready = entry.ready_ns;
    copy.token = entry.token;
    copy.attempts = entry.attempts;
    return copy;
}

int collect(const tw_durable_entry *entry, void *arg) {
    static_cast<std::vector<seen> *>(arg)->push_back(copy_of(*entry));
    return 0;
}

int take(const tw_durable_entry *entry, std::int64_t row, void *arg) {
    collect(entry, arg);
    static_cast<std::vector<seen> *>(arg)->back().row = row;
    return 0;
}

}  // namespace

const tw_store &store() {
    static const tw_store *const the = store_for_tests(address);
    return *the;
}

void wait_until(const std::function<bool()> &condition) {
    const std::time_t patience = std::time(nullptr) + 30;
    while (!condition()) {
        assert_true(std::time(nullptr) <= patience);
        pass_some();
    }
}

void pass(std::int64_t ns) {
    const std::int64_t until = to.now() + ns;
    wait_until([&] { return to.now() >= until; });
}

tw_durable_job job_of(const char *kind, const char *key, std::int64_t delay) {
    tw_durable_job job{};
    job.kind = kind;
    job.key = key;
    job.payload = "";
    job.due_ns = delay;
    job.grace_ns = second;
    return job;
}

tw_store_outcome outcome_of(const seen &held, tw_store_outcome_kind what) {
    tw_store_outcome outcome{};
    outcome.kind = held.kind.c_str();
    outcome.key = held.key.c_str();
    outcome.token = held.token;
    outcome.row = held.row;
    outcome.what = what;
    outcome.due_ns = held.job.due_ns;
    outcome.ready_ns = held.ready;
    return outcome;
}

std::optional<std::int64_t> first_notified(const tw_store &of, void *raw) {
    std::int64_t first = TW_NO_DEADLINE;
    const auto note = [](const char *, std::int64_t ready, void *arg) {
        std::int64_t &known = *static_cast<std::int64_t *>(arg);
        known = std::min(known, ready);
    };
    assert_int_equal(of.read_notifications(raw, note, &first), 0);
    return first != TW_NO_DEADLINE ? std::optional<std::int64_t>(first) : std::nullopt;
}

std::vector<std::string> keys_of(const std::vector<seen> &entries) {
    std::vector<std::string> keys;
    for (const seen &each : entries)
        keys.push_back(each.key);
    return keys;
}

void name_schema() {
    static unsigned number = 0;
    schema = "suite_" + std::to_string(getpid()) + "_" + std::to_string(std::time(nullptr) % 1000000) + "_" +
             std::to_string(++number);
}

int begin_test(void **) {
    to.open();
    who = to.join("the holder", 60 * minute);
    return 0;
}

// Removes the few jobs that most tests leave behind, so that the next test finds empty tables.
int end_test(void **) {
    tw_durable_filter some{};
    some.limit = 100;
    for (const seen &each : to.list(some))
        to.remove(each.kind, each.key);
    to.bury();
    if (to.count() != 0)
        name_schema();
    to.close();
    return 0;
}

// --- a connection ----------------------------------------------------------------------------

void connection::open() {
    std::string why;
    if (const int error = try_to_open(false, raw_, why); error != 0)
        fail_msg("%d: %s", error, why.c_str());
}

int connection::try_to_open(bool must_exist, void *&raw, std::string &why) {
    char text[256] = "";
    tw_store_place place{};
    place.address = address;
    place.schema = schema.c_str();
    place.timeout_ns = 30 * second;
    place.must_exist = must_exist ? 1 : 0;
    place.local_now = local_now;
    place.local_is_virtual = 1;
    const int error = store().open(&raw, &place, text, sizeof text);
    why = text;
    return error;
}

void connection::close() {
    if (raw_ != nullptr)
        store().close(raw_);
    raw_ = nullptr;
}

std::int64_t connection::now() {
    std::int64_t read = 0;
    assert_int_equal(store().now(raw_, &read), 0);
    return read;
}

std::vector<int> connection::put_many(const std::vector<tw_durable_job> &jobs, bool keep) {
    std::vector<tw_store_put> puts(jobs.size());
    for (std::size_t i = 0; i < jobs.size(); ++i)
        puts[i].job = &jobs[i];
    assert_int_equal(store().put(raw_, puts.data(), puts.size(), keep ? 1 : 0, nullptr), 0);
    std::vector<int> existed;
    for (const tw_store_put &each : puts)
        existed.push_back(each.existed);
    return existed;
}

int connection::put(const tw_durable_job &job, bool keep) { return put_many({job}, keep).front(); }

int connection::put(const std::string &kind, const std::string &key, std::int64_t delay) {
    return put(job_of(kind.c_str(), key.c_str(), delay));
}

int connection::put_keep(const std::string &kind, const std::string &key, std::int64_t delay) {
    return put(job_of(kind.c_str(), key.c_str(), delay), true);
}

std::vector<tw_store_put> connection::put_held(const std::vector<tw_durable_job> &jobs,
                                               const tw_store_member &member, bool keep) {
    std::vector<tw_store_put> puts(jobs.size());
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        puts[i].job = &jobs[i];
        puts[i].hold = 1;
        puts[i].existed = -1;
        puts[i].token = -1;
    }
    assert_int_equal(store().put(raw_, puts.data(), puts.size(), keep ? 1 : 0, &member), 0);
    return puts;
}

tw_store_put connection::put_held(const tw_durable_job &job, const tw_store_member &member, bool keep) {
    tw_store_put put = put_held(std::vector{job}, member, keep).front();
    put.job = &job;
    return put;
}

int connection::remove(const std::string &kind, const std::string &key) {
    return store().remove(raw_, kind.c_str(), key.c_str());
}

std::int64_t connection::requeue(const char *kind, const char *key) {
    tw_durable_filter failed{};
    failed.kind = kind;
    failed.states = TW_DURABLE_FAILED;
    return change(failed, TW_STORE_FIRE, key);
}

std::int64_t connection::change(const tw_durable_filter &filter, tw_store_change what, const char *key,
                                std::vector<changed_job> *all) {
    std::vector<changed_job> found;
    const auto note = [](const tw_durable_entry *entry, int changed, void *arg) {
        static_cast<std::vector<changed_job> *>(arg)->push_back({copy_of(*entry), changed});
        return 0;
    };
    assert_int_equal(store().change(raw_, &filter, key, what, note, &found), 0);
    if (all != nullptr)
        *all = found;
    return std::count_if(found.begin(), found.end(), [](const changed_job &job) { return job.changed > 0; });
}

std::vector<seen> connection::list(const tw_durable_filter &filter) {
    std::vector<seen> entries;
    assert_int_equal(store().list(raw_, &filter, nullptr, collect, &entries), 0);
    return entries;
}

std::int64_t connection::count(const tw_durable_filter &filter) { return store().count(raw_, &filter); }

std::optional<seen> connection::get(const std::string &kind, const std::string &key) {
    std::vector<seen> entries;
    tw_durable_filter filter{};
    filter.kind = kind.c_str();
    assert_int_equal(store().list(raw_, &filter, key.c_str(), collect, &entries), 0);
    assert_true(entries.size() <= 1);
    return entries.empty() ? std::nullopt : std::optional<seen>(entries.front());
}

tw_durable_state connection::state_of(const std::string &kind, const std::string &key) {
    const std::optional<seen> found = get(kind, key);
    assert_true(found.has_value());
    return found->state;
}

tw_store_member connection::join(const char *name, std::int64_t lease) {
    tw_store_member member{};
    assert_int_equal(store().join(raw_, name, lease, &member), 0);
    return member;
}

int connection::renew(const tw_store_member &member, std::int64_t lease) {
    std::int64_t read = 0;
    const int error = store().renew(raw_, &member, lease, &read);
    assert_true(error != 0 || read > 0);
    return error;
}

int connection::resume(tw_store_member &member, std::vector<seen> *held,
                       const std::vector<std::int64_t> &running) {
    std::vector<seen> unseen;
    return store().resume(raw_, &member, running.data(), running.size(), collect,
                          held != nullptr ? held : &unseen);
}

int connection::leave(const tw_store_member &member) { return store().leave(raw_, &member); }

std::int64_t connection::bury(std::size_t limit) { return store().bury(raw_, limit); }

void connection::end_lease(const tw_store_member &member) {
    assert_int_equal(renew(member, 1), 0);
    pass(ms);
}

int connection::try_claim(const tw_store_member &member, const std::vector<const char *> &kinds,
                          std::int64_t horizon, std::size_t limit, std::vector<seen> *claimed,
                          std::int64_t from) {
    std::vector<seen> unseen;
    tw_store_claim request{};
    request.member = member;
    request.kinds = kinds.data();
    request.kinds_count = kinds.size();
    request.horizon_ns = horizon;
    request.limit = limit;
    request.from_ns = from;
    return store().claim(raw_, &request, take, claimed != nullptr ? claimed : &unseen, &look_);
}

std::vector<seen> connection::claim(const tw_store_member &member, const std::vector<const char *> &kinds,
                                    std::int64_t horizon, std::size_t limit) {
    std::vector<seen> claimed;
    assert_int_equal(try_claim(member, kinds, horizon, limit, &claimed), 0);
    return claimed;
}

int connection::try_claim_within(tw_store_claim limits, const tw_store_member &member, const char *kind,
                                 std::size_t limit, std::vector<seen> &claimed) {
    limits.member = member;
    limits.kinds = &kind;
    limits.kinds_count = 1;
    limits.limit = limit;
    return store().claim(raw_, &limits, take, &claimed, &look_);
}

std::vector<seen> connection::claim_within(const tw_store_claim &limits, const tw_store_member &member,
                                           const char *kind, std::size_t limit) {
    std::vector<seen> claimed;
    assert_int_equal(try_claim_within(limits, member, kind, limit, claimed), 0);
    return claimed;
}

tw_store_start connection::start(const tw_store_member &member, const seen &held) {
    tw_store_start request{};
    std::int64_t read = 0;
    request.kind = held.kind.c_str();
    request.key = held.key.c_str();
    request.token = held.token;
    request.row = held.row;
    assert_int_equal(store().start(raw_, &member, &request, 1, &read), 0);
    assert_true(read > 0);
    return request;
}

int connection::settle(const tw_store_member &member, tw_store_outcome outcome) {
    outcome.matched = -1;
    assert_int_equal(store().settle(raw_, &member, &outcome, 1), 0);
    return outcome.matched;
}

bool connection::listens() { return store().listen != nullptr && store().listen(raw_) >= 0; }

std::optional<std::int64_t> connection::notification(std::int64_t patience) {
    pollfd waiting{.fd = store().listen(raw_), .events = POLLIN, .revents = 0};
    assert_true(waiting.fd >= 0);
    const std::int64_t until = steady_now() + patience;
    for (;;) {
        // Read before the wait: a notification may have come while another function used the connection.
        if (const std::optional<std::int64_t> ready = first_notified(store(), raw_); ready)
            return ready;
        const std::int64_t left = until - steady_now();
        if (left <= 0 || poll(&waiting, 1, static_cast<int>(left / ms) + 1) <= 0)
            return std::nullopt;
    }
}

}  // namespace tickwheel::durable::tests

int main(int count, char **arguments) {
    using namespace tickwheel::durable::tests;
    if (count > 1)
        address = arguments[1];
    name_schema();
    if (store_for_tests(address) == nullptr) {
        std::fprintf(stderr, "store: this build has no store for such an address\n");
        return 2;
    }
    return run_registered_tests(address, count > 2 ? arguments[2] : nullptr);
}
