// Why a call is refused, in words: which argument it was, or what stands in the way. Noted
// where it is refused, for tw_explain.
#pragma once

namespace tickwheel::runtime {

// Notes, for this thread, why it gets this error, and returns it. Null: tw_strerror says it
// all. Thread-local data are touched here alone: who is never refused has none.
[[gnu::cold, gnu::noinline]] void note(int error, const char *why);
inline int refuse(int error, const char *why) {
    note(error, why);
    return error;
}

// What was noted last, if it was of this error; else null.
const char *noted_for(int error);

// An answer of the wheel to a call on a node.
[[gnu::cold, gnu::noinline]] int refuse_as_the_wheel(int error);
[[gnu::always_inline]] inline int explain_wheel_error(int result) {
    return result < 0 ? refuse_as_the_wheel(result) : result;
}

// An answer of the system's, or of a driver's.
inline int explain_system_error(int result) { return result < 0 ? refuse(result, nullptr) : result; }

}  // namespace tickwheel::runtime
