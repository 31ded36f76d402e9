// The content of the memory store: jobs, members and listeners.
//
// Each job is in exactly one index, and takes its node along when it moves to another. So only `put`, `join`,
// `listen` and a claim with a rate allocate, and they do so before they change anything.
//
//     pending  its kind's `pending`, by ready time and key
//     failed   its kind's `failed`, by key
//     held     its holder's `held`, by token
//
// REQUIRES, for all functions: the database's mutex is held.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <tickwheel/durable_store.h>

namespace memory {

struct job;
struct kind;
struct member;

struct by_ready {
    bool operator()(const job *one, const job *other) const;
};
struct by_key {
    bool operator()(const job *one, const job *other) const;
};
struct by_token {
    bool operator()(const job *one, const job *other) const;
};
using pending_index = std::set<job *, by_ready>;
using failed_index = std::set<job *, by_key>;
using held_index = std::set<job *, by_token>;
using index_node = pending_index::node_type;

// The fields of a job that a put sets, and those that the job's answers change.
struct job_data {
    std::string payload;
    std::optional<std::string> cron, zone, group, waits_for;
    std::int64_t period = 0, grace = 0;
    tw_durable_missed missed = TW_DURABLE_COALESCE;
    std::int64_t due = 0, ready = 0;
    std::int64_t no_later = TW_NO_DEADLINE;  // the end of the puts with within_ns
    std::uint32_t attempts = 0;
    std::optional<std::string> error;
};

struct job {
    const std::string *key = nullptr;
    kind *of = nullptr;
    job_data data;
    std::int64_t token = 0;
    member *holder = nullptr;
    bool started = false, failed = false;
    bool locked = false;  // as if by another transaction; the store never sets this itself
    index_node unused;    // empty while the job is in an index

    [[nodiscard]] tw_durable_state state() const;
    [[nodiscard]] tw_durable_entry entry() const;
};
using job_map = std::map<std::string, job, std::less<>>;

struct kind {
    const std::string *name = nullptr;
    job_map jobs;
    pending_index pending;
    failed_index failed;
};
using kind_map = std::map<std::string, kind, std::less<>>;

struct member {
    std::int64_t id = 0, epoch = 1, joined = 0, lease_end = 0, clock_offset = 0;
    bool dead = false, knows_kinds = false;
    std::vector<std::string> kinds;
    std::string name;
    held_index held;
};

// A connection that listens.
struct listener {
    int descriptor = -1;
    std::int64_t first_ready = TW_NO_DEADLINE;  // of the jobs in the notifications that it has not read
};

struct database {
    std::mutex mutex;
    unsigned connections = 0;  // guarded by the mutex of all databases
    kind_map kinds;
    std::map<std::int64_t, member> members;
    std::vector<listener *> listeners;
    std::map<std::string, std::int64_t, std::less<>> next_starts;  // of kinds: tw_store_claim.pause_ns
    std::int64_t last_token = 0, last_member = 0;
    bool has_left_group = false;  // a group may be empty for which jobs wait

    job *find(const char *kind_name, const char *key);
    member *find(const tw_store_member &who);                            // null: the member is dead
    member *find_claimer(const tw_store_member &who, std::int64_t now);  // null: dead, or must not claim

    // The first takes a job out of its index, the second puts it into the index of its present state.
    static void take_out(job &stored);
    static void put_in(job &stored);

    // Makes a member hold a job, and starts the job if it is ready by now.
    void hold(job &stored, member &holder, std::int64_t now);

    // Makes a held job pending, as it was before it was claimed.
    static void release(job &stored);

    [[nodiscard]] std::size_t count_held(const char *kind_name) const;

    void erase(job &stored);

    // Takes over the jobs and members of another database, without locks.
    void become(const database &other);

    // Releases the jobs whose groups are empty. Returns the ready time of the first.
    std::int64_t release_waiting(std::int64_t now);
    [[nodiscard]] std::int64_t first_end(const member &self, std::int64_t now) const;  // see tw_store_look

    // Notifies all listeners but `self` of a job that is ready at this time, if that is soon.
    void tell(const listener *self, std::int64_t ready, std::int64_t now);
};

// The jobs of a put. Only the constructor allocates.
class put_batch {
  public:
    put_batch(database &into, const tw_store_put *puts, std::size_t count, std::int64_t now);

    // Puts all jobs, and if there is a holder, holds those with `hold`. Returns the ready time of the first
    // job that was put and is pending.
    std::int64_t carry_out(tw_store_put *puts, bool keep, member *holder);

  private:
    struct made {
        kind_map kind_node;  // empty: the kind exists
        job_map job_node;
    };
    static made make(const database &into, const tw_durable_job &from, std::int64_t now);
    job &carry_out(made &nodes, tw_store_put &put, bool keep);

    database &into_;
    const std::int64_t now_;
    std::vector<made> made_;
};

}  // namespace memory
