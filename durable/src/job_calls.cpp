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

// On virtual time no descriptor wakes the membership when there are notifications. So it must look for those
// of this process's own changes, which may have released jobs that waited for a group.
void ring_unless_notified(tw_durable &durable) {
    if (durable.member != nullptr && durable.settings.single_thread)
        durable.member->membership_loop->ring();
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
    ring_unless_notified(durable);
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
        const char **const texts[] = {&entry.job.kind, &entry.job.key,   &entry.job.cron,
                                      &entry.job.zone, &entry.job.group, &entry.job.waits_for,
                                      &entry.holder,   &entry.error};
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

// What a call of the store's `change` has done.
struct changes {
    std::size_t selected = 0;
    std::int64_t changed = 0;
    std::vector<std::int64_t> tokens;  // of changed jobs
    // The last job that was selected.
    std::string kind, key;
    std::int64_t ready_ns = 0;
    tw_durable_state state = TW_DURABLE_PENDING;
    bool is_busy = false;

    static int note(const tw_durable_entry *entry, int changed, void *arg) {
        return guarded([&] {
            changes &self = *static_cast<changes *>(arg);
            ++self.selected;
            if (changed > 0) {
                ++self.changed;
                self.tokens.push_back(entry->token);
            }
            self.kind = entry->job.kind;
            self.key = entry->job.key;
            self.ready_ns = entry->ready_ns;
            self.state = entry->state;
            self.is_busy = changed < 0;
            return 0;
        });
    }
};

int change(tw_durable &durable, const tw_durable_filter &filter, const char *key, tw_store_change what,
           changes &done) {
    done = {};
    const auto error = durable.put_queue.ask([&](const tw_store &store, void *connection) {
        return store.change(connection, &filter, key, what, changes::note, &done);
    });
    member *const own = durable.member.get();
    if (error != 0 || done.changed == 0 || own == nullptr)
        return static_cast<int>(error);
    for (const std::int64_t token : done.tokens)
        own->jobs.drop(token);
    ring_unless_notified(durable);
    if (what == TW_STORE_FIRE && own->membership.note_pending(filter.kind, 0))
        own->membership_loop->ring();
    return 0;
}

// Makes one job fire. Another transaction may keep changing its row, so this tries again.
int fire_one(tw_durable &durable, const tw_durable_filter &filter, const char *key, changes &done) {
    constexpr int most_tries = 10;
    for (int tries = 0; tries < most_tries; ++tries)
        if (const int error = change(durable, filter, key, TW_STORE_FIRE, done); error != 0 || !done.is_busy)
            return error;
    return refuse(-EBUSY, "other connections keep changing the job");
}

int fire_now(tw_durable &durable, const char *kind, const char *key) {
    tw_durable_filter filter = {};
    filter.kind = kind;
    changes done;
    if (const int error = fire_one(durable, filter, key, done); error != 0)
        return error;
    if (done.selected == 0)
        return -ENOENT;
    return done.state == TW_DURABLE_STARTED ? 0 : 1;
}

// Goes once through the jobs of a filter, batch by batch. Each batch begins after the last job of the one
// before, which a handler may have failed once more by then.
std::int64_t change_batches(tw_durable &durable, tw_durable_filter some, tw_store_change what) {
    constexpr std::size_t batch = 1000;
    const std::size_t limit = some.limit != 0 ? some.limit : SIZE_MAX;
    std::size_t all = 0;
    changes done;
    std::string kind, key;
    do {
        some.limit = std::min(limit - all, batch);
        if (const int error = change(durable, some, nullptr, what, done); error != 0)
            return error;
        all += static_cast<std::size_t>(done.changed);
        if (done.selected < some.limit)
            break;
        kind = done.kind;
        key = done.key;
        some.after_kind = kind.c_str();
        some.after = key.c_str();
        if (some.ready_before_ns != 0)
            some.ready_from_ns = done.ready_ns;
    } while (all < limit);
    return static_cast<std::int64_t>(all);
}

std::int64_t change_all(tw_durable *durable, const tw_durable_filter *filter, tw_store_change what,
                        unsigned states) {
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
    return guarded([&] { return change_batches(*durable, some, what); });
}

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
        ring_unless_notified(*durable);
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
    tw_durable_filter failed = {};
    failed.kind = kind;
    failed.states = TW_DURABLE_FAILED;
    if (key == nullptr)
        return change_all(durable, &failed, TW_STORE_FIRE, TW_DURABLE_FAILED);
    return guarded([&]() -> std::int64_t {
        changes done;
        if (const int error = fire_one(*durable, failed, key, done); error != 0)
            return error;
        return done.changed != 0 ? done.changed : refuse(-ENOENT, "no failed job has this name");
    });
}

namespace tickwheel::durable {
namespace {

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
            return store.members(connection, looking<tw_durable_member>::visit, &visits);
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
            return store.tallies(connection, times, count, most, looking<tw_durable_tally>::visit, &visits);
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
