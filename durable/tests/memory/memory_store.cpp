// The functions of the store that concern connections and jobs.
//
// Locks: `all.mutex` guards the table of databases; each database has a mutex of its own. No thread holds two
// of these mutexes.
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
#include <tuple>
#include <utility>
#include <vector>

#include "memory_connection.hpp"
#include "memory_store.h"
#include "memory_times.hpp"

namespace memory {
namespace {

struct all_databases {
    std::mutex mutex;
    std::map<std::string, database> named;
};

// Never freed, so that a connection may outlive the end of main.
all_databases &all() {
    static all_databases &the = *new all_databases;
    return the;
}

// --- connections -----------------------------------------------------------------------------

// The process number is part of the name, so that the child of a fork does not use its copy of a parent's
// database.
std::string full_name(const tw_store_place &place) {
    return std::to_string(getpid()) + '/' + place.schema + '/' + place.address;
}

int open(void **out, const tw_store_place *place, char *why, std::size_t room) {
    if (place->grant_to != nullptr) {
        std::snprintf(why, room, "a database in memory has no roles");
        return -EOPNOTSUPP;
    }
    try {
        auto self = std::make_unique<connection>();
        self->name = full_name(*place);
        self->local_now = place->local_now;
        self->local_now_arg = place->local_now_arg;
        const std::lock_guard lock(all().mutex);
        if (place->must_exist != 0 && !all().named.contains(self->name)) {
            std::snprintf(why, room, "there is no such database in memory");
            return -ENOENT;
        }
        self->base = &all().named.try_emplace(self->name).first->second;
        ++self->base->connections;
        *out = self.release();
        return 0;
    } catch (const std::bad_alloc &) {
        std::snprintf(why, room, "%s", std::strerror(ENOMEM));
        return -ENOMEM;
    }
}

void stop_listening(connection &self) {
    if (self.listening.descriptor < 0)
        return;
    const std::lock_guard lock(self.base->mutex);
    auto &listeners = self.base->listeners;
    listeners.erase(std::find(listeners.begin(), listeners.end(), &self.listening));
    ::close(self.listening.descriptor);
}

void close(void *of) {
    const std::unique_ptr<connection> self(static_cast<connection *>(of));
    stop_listening(*self);
    const std::lock_guard lock(all().mutex);
    if (--self->base->connections == 0)
        all().named.erase(self->name);
}

// Leaves the database alone: another thread of the parent may have been changing it.
void abandon(void *of) {
    const std::unique_ptr<connection> self(static_cast<connection *>(of));
    if (self->listening.descriptor >= 0)
        ::close(self->listening.descriptor);
}

const char *explain(void *of) { return std::strerror(-static_cast<connection *>(of)->error); }

int now(void *of, std::int64_t *now_ns) {
    *now_ns = static_cast<connection *>(of)->now();
    return 0;
}

// --- jobs ------------------------------------------------------------------------------------

bool is_any_locked(database &base, const tw_store_put *puts, std::size_t count) {
    return std::any_of(puts, puts + count, [&](const tw_store_put &each) {
        const job *const found = base.find(each.job->kind, each.job->key);
        return found != nullptr && found->locked;
    });
}

int put(void *of, tw_store_put *puts, std::size_t count, int keep, const tw_store_member *who) {
    return locked(of, [=](connection &self) {
        if (keep == 0 && is_any_locked(*self.base, puts, count))
            return -EBUSY;
        const std::int64_t now = self.now();
        member *const holder = who != nullptr ? self.base->find_claimer(*who, now) : nullptr;
        put_batch batch(*self.base, puts, count, now);
        const std::int64_t first = batch.carry_out(puts, keep != 0, holder);
        self.base->tell(&self.listening, std::min(first, self.base->release_waiting(now)), now);
        return 0;
    });
}

int remove(void *of, const char *kind_name, const char *key) {
    return locked(of, [=](connection &self) {
        job *const found = self.base->find(kind_name, key);
        if (found == nullptr)
            return -ENOENT;
        if (found->locked)
            return -EBUSY;
        const int prevented = found->started ? 0 : 1;
        const std::int64_t now = self.now();
        self.base->erase(*found);
        self.base->tell(&self.listening, self.base->release_waiting(now), now);
        return prevented;
    });
}

// --- walks -----------------------------------------------------------------------------------

// A copy of a job for a walk. The walk calls the visitor with the database unlocked, because the visitor is
// the user's, and may use another connection with the same database.
struct copied_job {
    std::string kind_name, key, holder_name;
    job_data data;
    tw_durable_entry entry{};

    explicit copied_job(const job &from)
        : kind_name(*from.of->name), key(*from.key), data(from.data), entry(from.entry()) {
        if (from.holder != nullptr)
            holder_name = from.holder->name;
    }

    // Returns the entry, whose texts point into this copy.
    const tw_durable_entry *visit() {
        entry.job.kind = kind_name.c_str();
        entry.job.key = key.c_str();
        entry.job.payload = data.payload.empty() ? nullptr : data.payload.data();
        entry.job.cron = data.cron ? data.cron->c_str() : nullptr;
        entry.job.zone = data.zone ? data.zone->c_str() : nullptr;
        entry.job.group = data.group ? data.group->c_str() : nullptr;
        entry.job.waits_for = data.waits_for ? data.waits_for->c_str() : nullptr;
        entry.holder = entry.holder != nullptr ? holder_name.c_str() : nullptr;
        entry.error = data.error ? data.error->c_str() : nullptr;
        return &entry;
    }
};

// The position of a walk: it continues after this key of this kind, or at the first kind after this one.
struct walk {
    tw_durable_filter filter{};
    std::string kind_name, after;
    std::uint64_t left = UINT64_MAX;

    explicit walk(const tw_durable_filter &from) : filter(from) {
        if (filter.kind != nullptr)
            kind_name = filter.kind;
        else if (filter.after != nullptr && filter.ready_before_ns == 0)
            kind_name = filter.after_kind;
        if (filter.after != nullptr && filter.ready_before_ns == 0)
            after = filter.after;
        if (filter.limit != 0)
            left = filter.limit;
    }

    // Calls step(job) on each selected job from here on, until that returns false.
    template <typename F> void go(const database &base, F step) {
        for (auto of = base.kinds.lower_bound(kind_name); left > 0 && of != base.kinds.end(); ++of) {
            if (filter.kind != nullptr && of->first != kind_name)
                return;
            const job_map &jobs = of->second.jobs;
            auto at = of->first == kind_name ? jobs.upper_bound(after) : jobs.begin();
            for (; at != jobs.end() && left > 0; ++at) {
                if (!selects(at->second))
                    continue;
                --left;
                if (!step(at->second))
                    return;
            }
        }
    }

    [[nodiscard]] bool selects(const job &candidate) const {
        if (filter.states != 0 && (filter.states & static_cast<unsigned>(candidate.state())) == 0)
            return false;
        if (filter.group != nullptr && candidate.data.group != filter.group)
            return false;
        const std::int64_t ready = candidate.data.ready;
        if (filter.ready_before_ns == 0)
            return true;
        if (ready < filter.ready_from_ns ||
            (ready >= filter.ready_before_ns && filter.ready_before_ns != TW_NO_DEADLINE))
            return false;
        const char *const kind = filter.after_kind != nullptr ? filter.after_kind : filter.kind;
        return ready > filter.ready_from_ns || filter.after == nullptr ||
               std::make_pair(*candidate.of->name, *candidate.key) >
                   std::make_pair(std::string(kind), std::string(filter.after));
    }

    // All selected jobs in the order of the filter.
    std::vector<job *> all(database &base) {
        const bool by_ready = filter.ready_before_ns != 0;
        std::vector<job *> found;
        const std::uint64_t most = std::exchange(left, by_ready ? UINT64_MAX : left);
        go(base, [&found](const job &each) { return found.push_back(const_cast<job *>(&each)), true; });
        if (by_ready)
            std::sort(found.begin(), found.end(), [](const job *one, const job *other) {
                return std::tie(one->data.ready, *one->of->name, *one->key) <
                       std::tie(other->data.ready, *other->of->name, *other->key);
            });
        found.resize(std::min<std::size_t>(found.size(), most));
        return found;
    }
};

// Copies some jobs of a walk, and moves the position after them.
int copy_some(connection &self, walk &position, std::vector<copied_job> &into) {
    constexpr std::size_t some = 64;
    into.clear();
    position.go(*self.base, [&](const job &found) {
        into.emplace_back(found);
        return into.size() < some;
    });
    if (!into.empty()) {
        position.kind_name = into.back().kind_name;
        position.after = into.back().key;
    }
    return 0;
}

int list_all(void *of, const tw_durable_filter &filter, tw_store_visitor *each, void *arg) {
    walk position(filter);
    std::vector<copied_job> some;
    if (filter.ready_before_ns != 0) {
        const int error = locked(of, [&](connection &self) {
            for (const job *found : position.all(*self.base))
                some.emplace_back(*found);
            return 0;
        });
        for (std::size_t i = 0; error == 0 && i < some.size(); ++i)
            if (const int result = each(some[i].visit(), arg); result != 0)
                return result;
        return error;
    }
    do {
        const int error = locked(of, [&](connection &self) { return copy_some(self, position, some); });
        if (error != 0)
            return error;
        for (copied_job &copied : some) {
            if (const int result = each(copied.visit(), arg); result != 0)
                return result;
        }
    } while (!some.empty());
    return 0;
}

int list_one(void *of, const tw_durable_filter &filter, const char *key, tw_store_visitor *each, void *arg) {
    std::optional<copied_job> copy;
    const int error = locked(of, [&](connection &self) {
        const job *const found = self.base->find(filter.kind, key);
        if (found != nullptr && walk(filter).selects(*found))
            copy.emplace(*found);
        return 0;
    });
    return error == 0 && copy ? each(copy->visit(), arg) : error;
}

int list(void *of, const tw_durable_filter *filter, const char *key, tw_store_visitor *each, void *arg) {
    try {
        return key != nullptr ? list_one(of, *filter, key, each, arg) : list_all(of, *filter, each, arg);
    } catch (const std::bad_alloc &) {
        return -ENOMEM;
    }
}

std::int64_t count(void *of, const tw_durable_filter *filter) {
    return locked(of, [=](connection &self) {
        std::int64_t sum = 0;
        walk(*filter).go(*self.base, [&sum](const job &) { return ++sum, true; });
        return sum;
    });
}

bool fire(job &stored, std::int64_t now) {
    if (stored.started || (!stored.failed && stored.data.ready <= now))
        return false;
    job_data &data = stored.data;
    database::take_out(stored);
    if (data.due > now && data.cron)
        data.due = now - 1000;
    else if (data.due > now && data.period != 0)
        data.due = std::max<std::int64_t>(0, data.due - data.period);
    if (stored.failed) {
        data.attempts = 0;
        data.error.reset();
    }
    data.ready = now;
    data.waits_for.reset();
    stored.failed = false;
    stored.holder = nullptr;
    database::put_in(stored);
    return true;
}

int change(void *of, const tw_durable_filter *filter, const char *key, tw_store_change what,
           tw_store_changed *each, void *arg) {
    struct seen {
        copied_job job;
        bool is_changed;
    };
    std::vector<seen> all;
    const int error = locked(of, [&](connection &self) {
        const std::int64_t now = self.now();
        bool has_changed = false;
        for (job *const found : walk(*filter).all(*self.base)) {
            if (key != nullptr && *found->key != key)
                continue;
            seen &one = all.emplace_back(seen{copied_job(*found), true});
            if (what == TW_STORE_REMOVE)
                self.base->erase(*found);
            else
                one.is_changed = fire(*found, now);
            has_changed = has_changed || one.is_changed;
        }
        const std::int64_t first =
            has_changed && what == TW_STORE_FIRE ? now : self.base->release_waiting(now);
        self.base->tell(&self.listening, first, now);
        return 0;
    });
    for (seen &one : all)
        if (const int end = error == 0 ? each(one.job.visit(), one.is_changed ? 1 : 0, arg) : error; end != 0)
            return end;
    return error;
}

// --- tallies -------------------------------------------------------------------------------

struct tally {
    std::string kind;
    tw_durable_tally seen{};
    std::vector<std::uint64_t> pending;
};

tally tally_of(const std::string &name, const kind &of, const std::int64_t *times, std::size_t count,
               std::uint64_t most) {
    tally all{name, {}, std::vector<std::uint64_t>(count + 1)};
    const auto add = [most](std::uint64_t &sum) { sum += sum < most ? 1 : 0; };
    for (const auto &[key, each] : of.jobs) {
        const tw_durable_state state = each.state();
        if (state == TW_DURABLE_HELD || state == TW_DURABLE_STARTED)
            ++(state == TW_DURABLE_HELD ? all.seen.held : all.seen.started);
        else if (state == TW_DURABLE_FAILED)
            add(all.seen.failed);
        else if (state == TW_DURABLE_WAITING)
            add(all.seen.waiting);
        else
            add(all.pending[static_cast<std::size_t>(std::upper_bound(times, times + count, each.data.ready) -
                                                     times)]);
        if (state == TW_DURABLE_GIVEN_UP)
            add(all.seen.given_up);
    }
    all.seen.first_ready_ns = of.pending.empty() ? TW_NO_DEADLINE : (*of.pending.begin())->data.ready;
    return all;
}

int tallies(void *of, const std::int64_t *times, std::size_t count, std::uint64_t most,
            tw_durable_tally_visitor *each, void *arg) {
    std::vector<tally> all;
    const int error = locked(of, [&](connection &self) {
        for (const auto &[name, found] : self.base->kinds)
            all.push_back(tally_of(name, found, times, count, most != 0 ? most : UINT64_MAX));
        return 0;
    });
    for (std::size_t i = 0; error == 0 && i < all.size(); ++i) {
        all[i].seen.kind = all[i].kind.c_str();
        all[i].seen.pending = all[i].pending.data();
        if (const int ended = each(&all[i].seen, arg); ended != 0)
            return ended;
    }
    return error;
}

// --- notifications ---------------------------------------------------------------------------

int listen(void *of) {
    return locked(of, [](connection &self) {
        listener &listening = self.listening;
        if (listening.descriptor >= 0)
            return listening.descriptor;
        auto &listeners = self.base->listeners;
        listeners.reserve(listeners.size() + 1);
        const int made = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (made < 0)
            return -EOPNOTSUPP;
        listening.descriptor = made;
        listeners.push_back(&listening);
        return made;
    });
}

int read_notifications(void *of, tw_store_notice *each, void *arg) {
    return locked(of, [=](connection &self) {
        listener &listening = self.listening;
        std::uint64_t times = 0;
        if (read(listening.descriptor, &times, sizeof times) < 0)
            return 0;
        each(nullptr, std::exchange(listening.first_ready, TW_NO_DEADLINE), arg);
        return 0;
    });
}

int notify(void *of, const char *) {
    return locked(of, [](connection &self) {
        self.base->tell(&self.listening, 0, self.now());
        return 0;
    });
}

}  // namespace
}  // namespace memory

const tw_store memory_store = {
    .scheme = "memory",
    .open = memory::open,
    .close = memory::close,
    .abandon = memory::abandon,
    .explain = memory::explain,
    .now = memory::now,
    .put = memory::put,
    .remove = memory::remove,
    .change = memory::change,
    .list = memory::list,
    .count = memory::count,
    .join = memory::join,
    .renew = memory::renew,
    .resume = memory::resume,
    .leave = memory::leave,
    .bury = memory::bury,
    .claim = memory::claim,
    .start = memory::start,
    .settle = memory::settle,
    .listen = memory::listen,
    .read_notifications = memory::read_notifications,
    .notify = memory::notify,
    .announce = memory::announce,
    .members = memory::members,
    .tallies = memory::tallies,
};
