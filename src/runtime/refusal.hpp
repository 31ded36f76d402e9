// Why a call is refused, in words: which argument is wrong, or what stands in the way. Noted for the
// calling thread where the call is refused, and told by tw_explain.
#pragma once

namespace tickwheel::runtime {

// Notes why this thread gets this error; null if tw_strerror says it all. Cold and out of line, so that
// a call that is not refused does not touch thread-local data.
[[gnu::cold, gnu::noinline]] void note(int error, const char *why);
inline int refuse(int error, const char *why) {
    note(error, why);
    return error;
}

// The last note, if it was of this error; else null.
const char *noted_for(int error);

// Explains an error of the wheel to a call on a node.
[[gnu::cold, gnu::noinline]] int refuse_as_the_wheel(int error);
[[gnu::always_inline]] inline int explain_wheel_error(int result) {
    return result < 0 ? refuse_as_the_wheel(result) : result;
}

// The same for an error of the system's or a driver's.
inline int explain_system_error(int result) { return result < 0 ? refuse(result, nullptr) : result; }

}  // namespace tickwheel::runtime
