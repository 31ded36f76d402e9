// The functions of the store that look at jobs and members, or change all jobs that a filter selects. Each
// call makes the text of its statement from the filter: the settings of the session give every statement the
// same plan for all values, so a condition that a filter lacks must not stand in the text. No value does.
#pragma once

#include <set>
#include <string>

#include <tickwheel/durable_store.h>

#include "session.hpp"

namespace tickwheel::durable::postgres {

tw_durable_state state_of(bool held, bool started, bool failed);

// Reads the fields of a row from `kind` to `token`, in the order of the columns of a claim.
void read_job(const rows &from, int row, tw_durable_entry &entry);

// As the functions of durable_store.h.
int list(session &server, const std::string &schema, const tw_durable_filter *filter, const char *key,
         tw_store_visitor *each, void *arg);
std::int64_t count(session &server, const std::string &schema, const tw_durable_filter *filter);
// `left` receives the groups of removed jobs.
int change(session &server, const std::string &schema, const tw_durable_filter *filter, const char *key,
           tw_store_change what, tw_store_changed *each, void *arg, std::set<std::string> &left);
int tallies(session &server, const std::string &schema, const std::int64_t *times, std::size_t count,
            std::uint64_t most, tw_durable_tally_visitor *each, void *arg);
int members(session &server, const std::string &schema, tw_durable_member_visitor *each, void *arg);
int announce(session &server, const std::string &schema, const tw_store_member *member,
             const char *const *kinds, std::size_t count, std::int64_t clock_offset_ns);

}  // namespace tickwheel::durable::postgres
