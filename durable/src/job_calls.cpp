// Puts, removals and queries: the functions of durable.h that concern jobs. All of them ask the database
// through the put_queue.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <forward_list>
#include <string>
#include <vector>

#include "check_job.hpp"
#include "explain.hpp"
#include "guard.hpp"
#include "schedule.hpp"
#include "tw_durable.hpp"
#include "utf8_text.hpp"

namespace tickwheel::durable {

std::int64_t read_clock(tw_durable &durable) {
    database_clock::reading reading = {durable.clock.now(), 0, 0};
    const std::int64_t error = durable.put_queue.ask(
        [&](const tw_store &store, void *connection) { return store.now(connection, &reading.now); });
    if (error != 0)
        return error;
    reading.answered = durable.clock.now();
    durable.its_clock.add(reading);
    return durable.its_clock.at(reading.answered);
}

namespace {

// Jobs that have passed the checks.
struct checked_jobs {
    std::vector<tw_durable_job> jobs;
    std::vector<tw_store_put> puts;
};

// Fills in the first due time of a job with a cron expression.
int schedule_first(tw_durable &durable, const calendar &dates, tw_durable_job &job) {
    const std::int64_t now =
        durable.its_clock.is_known() ? durable.its_clock.at(durable.clock.now()) : read_clock(durable);
    if (now < 0)
        return static_cast<int>(now);
    job.due_ns = tw_calendar_next(dates.get(), now);
    job.absolute = 1;
    return job.due_ns != TW_NO_DEADLINE ? 0 : refuse(-EINVAL, "the cron expression is never due");
}

int check_all(tw_durable &durable, const tw_durable_job *jobs, std::size_t count, checked_jobs &all) {
    all.jobs.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
        calendar dates;
        if (const int error = check_job(jobs[i], all.jobs[i], &dates); error != 0)
            return error;
        if (jobs[i].cron != nullptr)
            if (const int error = schedule_first(durable, dates, all.jobs[i]); error != 0)
                return error;
    }
    for (const tw_durable_job &job : all.jobs)
        all.puts.push_back({&job, 0, 0, 0, 0, 0, 0});
    return 0;
}

int put_for(tw_durable &durable, std::vector<tw_store_put> &puts, bool keep) {
    tw_store_member whom = {};
    if (durable.member == nullptr)
        return durable.put_queue.put(puts, keep, whom);
    membership &own = durable.member->membership;
    const std::int64_t asked = durable.clock.now();
    const claimed_jobs::reservation room = own.choose_to_hold(puts);
    std::vector<std::int64_t> former;  // tokens of held jobs that these puts replace
    claimed_jobs &held = durable.member->jobs;
    for (const tw_store_put &put : puts)
        if (const std::int64_t token = keep ? 0 : held.token_of(put.job->kind, put.job->key); token != 0)
            former.push_back(token);
    const int error = guarded([&] { return durable.put_queue.put(puts, keep, whom); });
    if (error == 0)
        for (const std::int64_t token : former)
            held.drop(token);
    if (own.note_puts(puts, whom, asked, error))
        durable.member->membership_loop->ring();
    return error;
}

// Returns 1 if a job had to be new and is not.
int put_all(tw_durable &durable, const tw_durable_job *jobs, std::size_t count,
            tw_durable_existing existing) {
    checked_jobs all;
    if (const int error = check_all(durable, jobs, count, all); error != 0)
        return error;
    if (const int error = put_for(durable, all.puts, existing != TW_DURABLE_REPLACE); error != 0)
        return error;
    return existing == TW_DURABLE_ADD && all.puts[0].existed != 0 ? 1 : 0;
}

int check_named(const tw_durable *durable, const char *kind, const char *key) {
    if (const int error = check_usable(durable); error != 0)
        return error;
    if (const int error = check_name(kind, "kind"); error != 0)
        return error;
    return check_name(key, "key");
}

// An entry whose texts are valid UTF-8, even if another program has inserted the row.
struct readable_entry {
    explicit readable_entry(const tw_durable_entry &from) : entry(from) {
        const char **const texts[] = {&entry.job.kind,  &entry.job.key,       &entry.job.cron, &entry.job.zone,
                                      &entry.job.group, &entry.job.waits_for, &entry.holder,   &entry.error};
        for (const char **const text : texts)
            if (*text != nullptr && !is_utf8(*text))
                *text = made.emplace_front(made_utf8(*text)).c_str();
    }

    tw_durable_entry entry;
    std::forward_list<std::string> made;
};

// The user's visitor may end a walk with any value, which the caller must not take for an error of the store.
struct walk {
    tw_durable_visitor *each;
    void *arg;
    bool has_visited = false;
    int end = 0;

    static int visit(const tw_durable_entry *entry, void *arg) {
        walk &self = *static_cast<walk *>(arg);
        return guarded([&] {
            readable_entry shown(*entry);
            self.has_visited = true;
            self.end = self.each != nullptr ? self.each(&shown.entry, self.arg) : 0;
            return self.end != 0 ? 1 : 0;
        });
    }
};

int list(tw_durable &durable, const tw_durable_filter &filter, const char *key, walk &visits) {
    const int result = guarded([&] {
        return static_cast<int>(durable.put_queue.ask([&](const tw_store &store, void *connection) {
            return store.list(connection, &filter, key, walk::visit, &visits);
        }));
    });
    return visits.end != 0 ? visits.end : result;
}

int explain_absent(int result) { return result == -ENOENT ? refuse(result, "there is no such job") : result; }

}  // namespace

}  // namespace tickwheel::durable

using namespace tickwheel::durable;

TW_API int tw_durable_put(tw_durable *durable, const tw_durable_job *job, enum tw_durable_existing existing) {
    if (const int error = check_usable(durable); error != 0)
        return error;
    if (job == nullptr)
        return refuse(-EINVAL, "the job is null");
    if (const int error = check_existing(existing); error != 0)
        return error;
    const int result = guarded([&] { return put_all(*durable, job, 1, existing); });
    return result == 1 ? refuse_taken_name() : result;
}

TW_API int tw_durable_put_many(tw_durable *durable, const tw_durable_job *jobs, size_t count,
                               enum tw_durable_existing existing) {
    if (const int error = check_usable(durable); error != 0)
        return error;
    if (jobs == nullptr && count > 0)
        return refuse(-EINVAL, "the jobs are null");
    if (const int error = check_existing(existing); error != 0)
        return error;
    if (existing == TW_DURABLE_ADD)
        return refuse(-EINVAL, "TW_DURABLE_ADD is for one job");
    return guarded([&] { return put_all(*durable, jobs, count, existing); });
}

TW_API int tw_durable_cancel(tw_durable *durable, const char *kind, const char *key) {
    if (const int error = check_named(durable, kind, key); error != 0)
        return error;
    return guarded([&] {
        member *const own = durable->member.get();
        const std::int64_t held = own != nullptr ? own->jobs.token_of(kind, key) : 0;
        const auto result = static_cast<int>(durable->put_queue.ask(
            [&](const tw_store &store, void *connection) { return store.remove(connection, kind, key); }));
        if (result >= 0 && held != 0)
            own->jobs.drop(held);
        return explain_absent(result);
    });
}

TW_API int64_t tw_durable_requeue(tw_durable *durable, const char *kind, const char *key) {
    if (const int error = check_usable(durable); error != 0)
        return error;
    if (kind == nullptr && key != nullptr)
        return refuse(-EINVAL, "a key without a kind");
    if (kind != nullptr)
        if (const int error = check_name(kind, "kind"); error != 0)
            return error;
    if (key != nullptr)
        if (const int error = check_name(key, "key"); error != 0)
            return error;
    const std::int64_t count = guarded([&] {
        return durable->put_queue.ask(
            [&](const tw_store &store, void *connection) { return store.requeue(connection, kind, key); });
    });
    if (count == 0 && key != nullptr)
        return refuse(-ENOENT, "no failed job has this name");
    if (count > 0 && durable->member != nullptr) {
        if (durable->member->membership.note_pending(kind, 0))
            durable->member->membership_loop->ring();
    }
    return count;
}

namespace tickwheel::durable {
namespace {

constexpr int waits_again = 2;

// The state of a job that a call could not make fire: 1 if the job is ready, 0 if it was started,
// `waits_again`, or an error.
int look_why_not(tw_durable &durable, const char *kind, const char *key) {
    tw_durable_filter filter = {};
    filter.kind = kind;
    int found = -ENOENT;
    const auto error = durable.put_queue.ask([&](const tw_store &store, void *connection) {
        std::int64_t now = 0;
        if (const int failed = store.now(connection, &now); failed != 0)
            return failed;
        struct context {
            std::int64_t now;
            int &found;
        } with = {now, found};
        return store.list(
            connection, &filter, key,
            [](const tw_durable_entry *entry, void *arg) {
                const context &of = *static_cast<context *>(arg);
                of.found = entry->state == TW_DURABLE_STARTED ? 0
                           : entry->ready_ns <= of.now        ? 1
                                                              : waits_again;
                return 0;
            },
            &with);
    });
    return error != 0 ? static_cast<int>(error) : found;
}

std::int64_t change(tw_durable &durable, const tw_durable_filter &filter, const char *key,
                    tw_store_change what) {
    return durable.put_queue.ask([&](const tw_store &store, void *connection) -> std::int64_t {
        return store.change != nullptr ? store.change(connection, &filter, key, what) : -EOPNOTSUPP;
    });
}

void look_again(tw_durable &durable, const char *kind) {
    if (durable.member != nullptr && durable.member->membership.note_pending(kind, 0))
        durable.member->membership_loop->ring();
}

// Another transaction may change the job between the call and the look, so this tries again.
int fire_now(tw_durable &durable, const char *kind, const char *key) {
    constexpr int most_tries = 10;
    tw_durable_filter filter = {};
    filter.kind = kind;
    member *const own = durable.member.get();
    for (int tries = 0; tries < most_tries; ++tries) {
        const std::int64_t held = own != nullptr ? own->jobs.token_of(kind, key) : 0;
        const std::int64_t fired = change(durable, filter, key, TW_STORE_FIRE);
        if (fired < 0)
            return static_cast<int>(fired);
        if (fired > 0) {
            if (held != 0)
                own->jobs.drop(held);
            look_again(durable, kind);
            return 1;
        }
        if (const int found = look_why_not(durable, kind, key); found != waits_again)
            return found;
    }
    return refuse(-EBUSY, "other connections keep changing the job");
}

// Changes all jobs of a filter, batch by batch.
std::int64_t change_all(tw_durable *durable, const tw_durable_filter *filter, tw_store_change what,
                        unsigned states) {
    constexpr std::size_t batch = 1000;
    if (const int error = check_usable(durable); error != 0)
        return error;
    if (filter == nullptr)
        return refuse(-EINVAL, "the filter is null");
    if (const int error = check_filter(*filter); error != 0)
        return error;
    tw_durable_filter some = *filter;
    if (states != 0 && some.states != 0 && (some.states & states) == 0)
        return 0;
    some.states = states != 0 ? states : some.states;
    return guarded([&]() -> std::int64_t {
        std::int64_t all = 0, changed = 0;
        do {
            const std::size_t left =
                filter->limit != 0 ? filter->limit - static_cast<std::size_t>(all) : batch;
            some.limit = std::min(left, batch);
            changed = some.limit != 0 ? change(*durable, some, nullptr, what) : 0;
            all += std::max<std::int64_t>(changed, 0);
        } while (changed > 0);
        if (all > 0 && what == TW_STORE_FIRE)
            look_again(*durable, filter->kind);
        return changed < 0 ? changed : all;
    });
}

// Ends a walk of the store over what is not a job, as `walk` does.
template <class Item> struct looking {
    int (*each)(const Item *, void *);
    void *arg;
    int end = 0;

    static int visit(const Item *item, void *self) {
        auto &mine = *static_cast<looking *>(self);
        mine.end = mine.each(item, mine.arg);
        return mine.end != 0 ? 1 : 0;
    }
};

}  // namespace
}  // namespace tickwheel::durable

TW_API int tw_durable_fire_now(tw_durable *durable, const char *kind, const char *key) {
    if (const int error = check_named(durable, kind, key); error != 0)
        return error;
    return explain_absent(guarded([&] { return fire_now(*durable, kind, key); }));
}

TW_API int64_t tw_durable_cancel_many(tw_durable *durable, const tw_durable_filter *filter) {
    return change_all(durable, filter, TW_STORE_REMOVE, 0);
}

TW_API int64_t tw_durable_requeue_many(tw_durable *durable, const tw_durable_filter *filter) {
    return change_all(durable, filter, TW_STORE_FIRE, TW_DURABLE_FAILED);
}

TW_API int tw_durable_members(tw_durable *durable, tw_durable_member_visitor *each, void *arg) {
    if (const int error = check_usable(durable); error != 0)
        return error;
    if (each == nullptr)
        return refuse(-EINVAL, "the visitor is null");
    looking<tw_durable_member> visits{each, arg};
    const auto result = guarded([&] {
        return durable->put_queue.ask([&](const tw_store &store, void *connection) {
            return store.members != nullptr
                       ? store.members(connection, looking<tw_durable_member>::visit, &visits)
                       : -EOPNOTSUPP;
        });
    });
    return visits.end != 0 ? visits.end : static_cast<int>(result);
}

TW_API int tw_durable_tallies(tw_durable *durable, const int64_t *times, size_t count, uint64_t most,
                              tw_durable_tally_visitor *each, void *arg) {
    if (const int error = check_usable(durable); error != 0)
        return error;
    if (each == nullptr || (times == nullptr && count != 0))
        return refuse(-EINVAL, "the visitor or the times are null");
    for (size_t i = 0; i < count; ++i)
        if (times[i] < 0 || (i > 0 && times[i] <= times[i - 1]))
            return refuse(-EINVAL, "the times do not rise, or are negative");
    looking<tw_durable_tally> visits{each, arg};
    const auto result = guarded([&] {
        return durable->put_queue.ask([&](const tw_store &store, void *connection) {
            return store.tallies != nullptr ? store.tallies(connection, times, count, most,
                                                            looking<tw_durable_tally>::visit, &visits)
                                            : -EOPNOTSUPP;
        });
    });
    return visits.end != 0 ? visits.end : static_cast<int>(result);
}

TW_API int tw_durable_get(tw_durable *durable, const char *kind, const char *key, tw_durable_visitor *each,
                          void *arg) {
    if (const int error = check_named(durable, kind, key); error != 0)
        return error;
    tw_durable_filter filter = {};
    filter.kind = kind;
    walk visits{each, arg};
    const int result = list(*durable, filter, key, visits);
    return result == 0 && !visits.has_visited ? explain_absent(-ENOENT) : result;
}

TW_API int tw_durable_list(tw_durable *durable, const tw_durable_filter *filter, tw_durable_visitor *each,
                           void *arg) {
    const tw_durable_filter all = filter != nullptr ? *filter : tw_durable_filter{};
    if (const int error = check_usable(durable); error != 0)
        return error;
    if (each == nullptr)
        return refuse(-EINVAL, "the visitor is null");
    if (const int error = check_filter(all); error != 0)
        return error;
    walk visits{each, arg};
    return list(*durable, all, nullptr, visits);
}

TW_API int64_t tw_durable_count(tw_durable *durable, const tw_durable_filter *filter) {
    const tw_durable_filter all = filter != nullptr ? *filter : tw_durable_filter{};
    if (const int error = check_usable(durable); error != 0)
        return error;
    if (const int error = check_filter(all); error != 0)
        return error;
    return guarded([&] {
        return durable->put_queue.ask(
            [&](const tw_store &store, void *connection) { return store.count(connection, &all); });
    });
}
