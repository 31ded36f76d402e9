// The functions of the SQLite store that concern jobs and members, on a connection. durable_store.h describes
// them.
#pragma once

#include <set>

#include "session.hpp"

namespace tickwheel::durable::sqlite {

// What the changes of a transaction mean for other jobs and connections.
struct effects {
    std::int64_t first = TW_NO_DEADLINE;  // when the first of the jobs is ready that are now pending
    std::set<std::string> groups;         // groups that jobs have left, and those for which new jobs wait
};

// --- puts_and_lists.cpp

// Puts one job in a transaction that has begun. Returns 1 if a job of this name existed. Adds to `into` what
// the put has changed.
int put_one(session &to, const tw_durable_job &job, bool keep, std::int64_t now, effects &into);

// Ends the changes of a transaction: releases the jobs that wait for those of the groups that are now empty,
// and announces the first job.
int conclude(session &to, effects &of, std::int64_t now);

// Deletes one job in a transaction that has begun. Returns what `remove` returns.
int remove_one(session &to, const char *kind, const char *key);

tw_durable_state state_of(bool is_held, bool is_started, bool has_failed);

// Makes an entry from a row with JOB_COLUMNS and the name of the holder. Valid until the next row.
int entry_of(session &of, query &row, tw_durable_entry &entry);

int put(session &to, tw_store_put *puts, std::size_t count, bool keep, const tw_store_member *who);
int remove(session &to, const char *kind, const char *key);

// --- looking.cpp

int list(session &of, const tw_durable_filter &filter, const char *only, tw_store_visitor *each, void *arg);
std::int64_t count(session &of, const tw_durable_filter &filter);
int change(session &to, const tw_durable_filter &filter, const char *only, tw_store_change what,
           tw_store_changed *each, void *arg);
int tallies(session &of, const std::int64_t *times, std::size_t count, std::uint64_t most,
            tw_durable_tally_visitor *each, void *arg);
int announce(session &to, const tw_store_member &who, const char *const *kinds, std::size_t count,
             std::int64_t clock_offset_ns);
int members(session &of, tw_durable_member_visitor *each, void *arg);

// --- members.cpp

// Stores the end of a member's lease. -ESTALE: the member is dead, or its epoch has changed.
int lease_of(session &of, const tw_store_member &who, std::int64_t &lease);

int join(session &to, const char *name, std::int64_t lease_ns, tw_store_member &who);
int renew(session &to, const tw_store_member &who, std::int64_t lease_ns, std::int64_t &now);
int resume(session &to, tw_store_member &who, const std::int64_t *started, std::size_t count,
           tw_store_visitor *each, void *arg);
int leave(session &to, const tw_store_member &who);
std::int64_t bury(session &to, std::size_t limit);

// --- claims.cpp

// Holds a job for a member, in a transaction that has begun. The job is started if it is ready by now.
int hold(session &to, const char *kind, const char *key, std::int64_t holder, std::int64_t token,
         std::int64_t now);

// Takes the next `number` tokens, and stores the token before the first of them in `token`.
int take_tokens(session &of, std::size_t number, std::int64_t &token);

int claim(session &to, const tw_store_claim &request, tw_store_taker *each, void *arg, tw_store_look &look);
int start(session &to, const tw_store_member &who, tw_store_start *starts, std::size_t count,
          std::int64_t &now);
int settle(session &to, const tw_store_member &who, tw_store_outcome *outcomes, std::size_t count);

}  // namespace tickwheel::durable::sqlite
