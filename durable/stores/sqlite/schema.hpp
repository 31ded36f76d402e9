// The tables of the SQLite store, and how those of former releases become those of this one.
//
// The meta table has their version. Version n is what the first n steps make of an empty database, so a new
// version is a step at the end of the list, and the others stay as they were released.
#pragma once

#include <span>

#include "session.hpp"

namespace tickwheel::durable::sqlite {

// Statements that lead from one version to the next, with `@` for the schema and an underscore.
using step = const char *;

std::span<const step> all_steps();

// Returns 1 if the database has tables of this schema, 0 if not.
int has_tables(session &of);

// Brings the tables to the version that the steps lead to, in one transaction; several processes may do so at
// once. -EPROTO: they are of a later version.
int bring_up_to_date(session &of, std::span<const step> steps);

// Returns 0 if the tables are of this release, in whichever of the attached databases they are. -EPROTO: they
// are not, or there are none.
int check_version(session &of);

// Sets up what a new connection needs, and the tables, within the time that it waits for a lock.
int set_up(session &of, std::int64_t timeout_ns);

}  // namespace tickwheel::durable::sqlite
