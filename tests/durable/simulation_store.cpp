// The faulty store: it hands on to the one in memory, unless the connection breaks before or after that, the
// process has crashed, or the database is away. It also keeps what the database knows of each process.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "simulation_world.hpp"

namespace tickwheel::durable::tests {
namespace {

const tw_store &inner() { return *tw_store_for("memory:simulation"); }

struct connection {
    process *whose;
    void *inside;
};
connection &of(void *raw) { return *static_cast<connection *>(raw); }

enum class breaks { no, before, after };

breaks choose_fault(process &whose) {
    world &all = *the_world;
    ++all.calls;
    if (all.reaches(whose) && !(all.has_faults && all.chance(all.what.broken_calls)))
        return breaks::no;
    ++all.broken;
    all.fault(whose);
    return all.reaches(whose) && all.random(2) == 0 ? breaks::after : breaks::before;
}

// What breaks before has not happened; what breaks after has, and nobody knows.
template <class Call> auto pass(void *raw, const char *name, const Call &call) -> decltype(call()) {
    process &whose = *of(raw).whose;
    const breaks how = choose_fault(whose);
    whose.took_effect = how != breaks::before;
    if (how == breaks::before) {
        the_world->tell("process %u: %s breaks", whose.number, name);
        return -ENOTCONN;
    }
    const auto result = call();
    if (how == breaks::no)
        return result;
    the_world->tell("process %u: the answer to %s is lost", whose.number, name);
    return -ETIMEDOUT;
}

// --- connections -----------------------------------------------------------------------------

std::int64_t now_of_database(void *) { return the_world->database_now(); }

int open(void **out, const tw_store_place *place, char *why, std::size_t room) {
    process &whose =
        *the_world->processes.at(std::strtoul(std::strchr(place->address, ':') + 1, nullptr, 10));
    if (!the_world->reaches(whose)) {
        the_world->fault(whose);
        std::snprintf(why, room, "the simulation");
        return -ENOTCONN;
    }
    tw_store_place there = *place;
    there.address = "memory:simulation";
    there.local_now = now_of_database;
    void *inside = nullptr;
    const int error = inner().open(&inside, &there, why, room);
    if (error == 0)
        *out = new connection{&whose, inside};
    return error;
}

void close(void *raw) {
    inner().close(of(raw).inside);
    delete &of(raw);
}

const char *explain(void *) { return "the simulation"; }

int now(void *raw, std::int64_t *now_ns) {
    const int error = pass(raw, "now", [&] { return inner().now(of(raw).inside, now_ns); });
    of(raw).whose->took_effect = false;  // a put that needs the time asks for it first
    return error;
}

void note_allowed(process &whose, const std::string &key, std::int64_t token) {
    whose.started[token] = the_world->now();
    ++the_world->tries[key];
}

// --- jobs ------------------------------------------------------------------------------------

int put(void *raw, tw_store_put *puts, std::size_t count, int keep, const tw_store_member *member) {
    process &by = *of(raw).whose;
    const int result =
        pass(raw, "put", [&] { return inner().put(of(raw).inside, puts, count, keep, member); });
    for (const tw_store_put *it = puts; result == 0 && it != puts + count; ++it) {
        if (it->token == 0)
            continue;
        the_world->tell("process %u claims %s by its put, token %lld%s", by.number, it->job->key,
                        static_cast<long long>(it->token), it->started != 0 ? ", started" : "");
        if (it->started != 0)
            note_allowed(by, it->job->key, it->token);
    }
    return result;
}

int remove(void *raw, const char *kind, const char *key) {
    return pass(raw, "remove", [&] { return inner().remove(of(raw).inside, kind, key); });
}

std::int64_t requeue(void *raw, const char *kind, const char *key) {
    return pass(raw, "requeue", [&] { return inner().requeue(of(raw).inside, kind, key); });
}

int list(void *raw, const tw_durable_filter *filter, const char *key, tw_store_visitor *each, void *arg) {
    return pass(raw, "list", [&] { return inner().list(of(raw).inside, filter, key, each, arg); });
}

std::int64_t count(void *raw, const tw_durable_filter *filter) {
    return pass(raw, "count", [&] { return inner().count(of(raw).inside, filter); });
}

// --- members ---------------------------------------------------------------------------------

void note_lease(process &of, std::int64_t lease_ns) {
    of.lease_end = the_world->database_now() + lease_ns;
    of.renewed_at = the_world->now();
}

int join(void *raw, const char *name, std::int64_t lease_ns, tw_store_member *member) {
    return pass(raw, "join", [&] {
        const int error = inner().join(of(raw).inside, name, lease_ns, member);
        if (error == 0) {
            of(raw).whose->member = member->id;
            note_lease(*of(raw).whose, lease_ns);
        }
        return error;
    });
}

int renew(void *raw, const tw_store_member *member, std::int64_t lease_ns, std::int64_t *now_ns) {
    return pass(raw, "renew", [&] {
        const int error = inner().renew(of(raw).inside, member, lease_ns, now_ns);
        if (error == 0)
            note_lease(*of(raw).whose, lease_ns);
        return error;
    });
}

int resume(void *raw, tw_store_member *member, tw_store_visitor *each, void *arg) {
    return pass(raw, "resume", [&] { return inner().resume(of(raw).inside, member, each, arg); });
}

int leave(void *raw, const tw_store_member *member) {
    return pass(raw, "leave", [&] { return inner().leave(of(raw).inside, member); });
}

std::int64_t bury(void *raw, std::size_t limit) {
    return pass(raw, "bury", [&] { return inner().bury(of(raw).inside, limit); });
}

// --- holding ---------------------------------------------------------------------------------

// A claim, and what it has told of.
struct claiming {
    connection &by;
    tw_store_visitor *each;
    void *arg;
    struct found {
        std::string kind, key;
        std::int64_t token;
        bool is_started;
    };
    std::vector<found> all;

    static int visit(const tw_durable_entry *entry, void *arg) {
        claiming &it = *static_cast<claiming *>(arg);
        it.all.push_back({entry->job.kind, entry->job.key, entry->token, entry->state == TW_DURABLE_STARTED});
        return it.each(entry, it.arg);
    }
};

// The database tells of its claim, and then cannot commit it.
void roll_back(claiming &it, const tw_store_member &member) {
    std::vector<tw_store_outcome> outcomes;
    for (const claiming::found &each : it.all)
        outcomes.push_back(
            {each.kind.c_str(), each.key.c_str(), each.token, TW_STORE_RELEASE, 0, 0, 0, 0, nullptr, 0});
    inner().settle(it.by.inside, &member, outcomes.data(), outcomes.size());
}

// What becomes of a claim when the connection breaks: it is never carried out, or later; or it is, and then
// is not committed.
int break_claim(claiming &it, const tw_store_claim &claim, tw_store_look *look) {
    world &all = *the_world;
    const std::uint64_t how = all.reaches(*it.by.whose) ? all.random(4) : 0;
    all.tell("process %u: claim breaks (%llu)", it.by.whose->number, static_cast<unsigned long long>(how));
    if (how == 1 || how == 2) {
        std::vector<std::string> kinds(claim.kinds, claim.kinds + claim.kinds_count);
        all.late_claims.push_back({all.now() + all.random_time(how == 1 ? second : minute), claim.member,
                                   std::move(kinds), claim.horizon_ns, claim.limit});
    } else if (how == 3 && inner().claim(it.by.inside, &claim, claiming::visit, &it, look) == 0) {
        roll_back(it, claim.member);
    }
    return -ETIMEDOUT;
}

int claim(void *raw, const tw_store_claim *claim, tw_store_visitor *each, void *arg, tw_store_look *look) {
    connection &by = of(raw);
    claiming it{by, each, arg, {}};
    const breaks how = choose_fault(*by.whose);
    if (how == breaks::before)
        return break_claim(it, *claim, look);
    const int result = inner().claim(by.inside, claim, claiming::visit, &it, look);
    if (how == breaks::after) {
        the_world->tell("process %u: the answer to claim is lost", by.whose->number);
        return -ETIMEDOUT;
    }
    for (const claiming::found &found : it.all) {
        the_world->tell("process %u claims %s, token %lld%s", by.whose->number, found.key.c_str(),
                        static_cast<long long>(found.token), found.is_started ? ", started" : "");
        if (found.is_started && result == 0)
            note_allowed(*by.whose, found.key, found.token);
    }
    return result;
}

int start(void *raw, const tw_store_member *member, tw_store_start *starts, std::size_t count,
          std::int64_t *now_ns) {
    const int result =
        pass(raw, "start", [&] { return inner().start(of(raw).inside, member, starts, count, now_ns); });
    for (std::size_t i = 0; result == 0 && i < count; ++i)
        if (starts[i].started != 0)
            note_allowed(*of(raw).whose, starts[i].key, starts[i].token);
    return result;
}

int settle(void *raw, const tw_store_member *member, tw_store_outcome *outcomes, std::size_t count) {
    return pass(raw, "settle", [&] { return inner().settle(of(raw).inside, member, outcomes, count); });
}

constexpr tw_store table = {
    .scheme = "simulation",
    .open = open,
    .close = close,
    .abandon = close,
    .explain = explain,
    .now = now,
    .put = put,
    .remove = remove,
    .requeue = requeue,
    .list = list,
    .count = count,
    .join = join,
    .renew = renew,
    .resume = resume,
    .leave = leave,
    .bury = bury,
    .claim = claim,
    .start = start,
    .settle = settle,
    .listen = nullptr,
    .told = nullptr,
};

}  // namespace

const tw_store &faulty_store() { return table; }

}  // namespace tickwheel::durable::tests
