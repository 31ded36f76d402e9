// The facts that a message of the checking build adds to the error. See check.h.
#pragma once

#include "base/message.hpp"

namespace tickwheel::check {

// Adds one line with a place in the code: the file and the address in it that addr2line takes, and the symbol
// if the program exports it (link with -rdynamic). Adds nothing if `code` is null.
void add_code(base::message &said, const char *what, const void *code);

// An address inside the call that returns to `address`. Null for null.
const void *call_before(const void *address);

// Adds the lines about a node: its label, its callback, the call that armed it, its tick, and the user's call
// that found the error. `node` may be null or not in the table.
void add_what_is_known(base::message &said, const void *node);

}  // namespace tickwheel::check
