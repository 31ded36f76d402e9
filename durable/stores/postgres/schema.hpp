// The tables in PostgreSQL, and their upgrade from former releases.
#pragma once

#include <string>

#include "session.hpp"

namespace tickwheel::durable::postgres {

// Replaces each $S in the text by the schema's name as an identifier, and $N by the name alone, for strings.
// `check_schema` has made sure that the name consists of letters, digits and underscores.
std::string in_schema(const char *text, const std::string &schema);

// Creates missing tables and functions, unless they must exist, and upgrades those of a former release.
// Several processes may call this at the same time. If `grant_to` is not null, gives this role its rights in
// the same transaction. Returns 0 or an error of durable.h; -EPROTO: the tables are those of a later release.
int bring_up_to_date(session &server, const std::string &schema, bool must_exist, const char *grant_to);

}  // namespace tickwheel::durable::postgres
