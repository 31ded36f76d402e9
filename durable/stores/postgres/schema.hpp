// The tables in PostgreSQL, and how those of former releases become those of this one.
#pragma once

#include <string>

#include "session.hpp"

namespace tickwheel::durable::postgres {

// Replaces each $S in the text by the name of the schema as an identifier, and $N by the name alone, for
// strings. The engine has checked it: it has letters, digits and underscores.
std::string in_schema(const char *text, const std::string &schema);

// Creates what is missing, unless that is an error. Several may do so at the same time. 0 or an error of
// durable.h; -EPROTO: the tables are those of a later release.
int bring_up_to_date(session &server, const std::string &schema, bool must_exist);

}  // namespace tickwheel::durable::postgres
