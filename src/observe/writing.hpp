// Calls that write text about a runtime.
#pragma once

#include "runtime/runtime.hpp"
#include "text.hpp"

namespace tickwheel::runtime {

// What each of them checks first.
inline int check_writing(tw_runtime *rt, tw_text *write) {
    if (const int error = check_usable(rt); error != 0)
        return error;
    return write != nullptr ? 0 : refuse(-EINVAL, "the function that writes is null");
}

}  // namespace tickwheel::runtime
