// What a message of the checking build says beside what is wrong. See check.h.
#pragma once

#include "base/message.hpp"

namespace tickwheel::check {

// A place in the code: its symbol, if the program exports it (link with -rdynamic), and in any case the
// file and the address in it that addr2line takes. One line; nothing if `code` is null.
void add_code(base::message &said, const char *what, const void *code);

// The call that returns to this address, which is one after it. Null for null.
const void *call_before(const void *address);

// The lines on a node: its callback, where it was armed, which call of the user's this is. `node` may be
// null, and need not be known.
void add_what_is_known(base::message &said, const void *node);

}  // namespace tickwheel::check
