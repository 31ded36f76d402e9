// The tables of the SQLite store, and their upgrade from former releases.
//
// The meta table stores their version. The first n steps make version n of an empty database. So a new
// version adds a step to the end of the list, and released steps never change.
#pragma once

#include <span>

#include "session.hpp"

namespace tickwheel::durable::sqlite {

// Statements that upgrade the tables from one version to the next, with `@` for the schema's name and an
// underscore.
using step = const char *;

std::span<const step> all_steps();

// Returns 1 if the database has tables of this schema, 0 if not.
int has_tables(session &of);

// Upgrades the tables to the version of the last step, in one transaction; several processes may call this at
// once. -EPROTO: the tables are of a later version.
int bring_up_to_date(session &of, std::span<const step> steps);

// Returns 0 if the tables are of this release, in whichever attached database they are. -EPROTO: they are
// not, or there are none.
int check_version(session &of);

// Sets up a new connection and the tables. While another connection keeps the database locked, retries for
// this long.
int set_up(session &of, std::int64_t timeout_ns);

}  // namespace tickwheel::durable::sqlite
