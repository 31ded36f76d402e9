// Calls that write text about a runtime.
#pragma once

#include <utility>

#include "runtime/no_thread_cancel.hpp"
#include "runtime/state.hpp"
#include "text.hpp"

namespace tickwheel::observe {

// Makes such a call: `body` writes to the text_out that it gets. The user's function may do anything that a
// callback may.
template <class Body> auto write_text(tw_runtime *rt, tw_text *write, void *arg, Body body) {
    using result = decltype(body(std::declval<text_out &>()));
    if (const int error = runtime::check_usable(rt); error != 0)
        return result{error};
    if (write == nullptr)
        return result{runtime::refuse(-EINVAL, "the write function is null")};
    const runtime::no_thread_cancel guard;
    runtime::end_of_call end;
    const runtime::inside_user_code frame(*rt, end);
    text_out out(write, arg);
    return body(out);
}

}  // namespace tickwheel::observe
