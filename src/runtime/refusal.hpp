// The reason for a refused call, in words: which argument is wrong, or what prevents the call. The refusing
// function notes it for the calling thread, and tw_explain returns it.
#pragma once

#include <cerrno>

namespace tickwheel::runtime {

// Notes why this thread gets this error; null if the error's general meaning is enough. Cold and out of line,
// so that a successful call does not touch thread-local data.
[[gnu::cold, gnu::noinline]] void note(int error, const char *why);
inline int refuse(int error, const char *why) {
    note(error, why);
    return error;
}

inline int refuse_visitor() { return refuse(-EINVAL, "the visitor is null"); }

// The last note if it is about this error, else null.
const char *noted_for(int error);

// Notes the reason for a wheel's error in a call on a node.
[[gnu::cold, gnu::noinline]] int refuse_as_the_wheel(int error);
[[gnu::always_inline]] inline int explain_wheel_error(int result) {
    return result < 0 ? refuse_as_the_wheel(result) : result;
}

// The same for an error of the system, a driver or a visitor.
inline int explain_system_error(int result) { return result < 0 ? refuse(result, nullptr) : result; }

}  // namespace tickwheel::runtime
