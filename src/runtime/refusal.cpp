// tw_explain: errors in words. Here an errno often means something narrower than the system's
// own text says. Any thread.
#include "refusal.hpp"

#include "state.hpp"

namespace tickwheel::runtime {

namespace {

struct {
    int error;
    const char *why;
} constinit TW_THREAD_LOCAL noted = {0, nullptr};

}  // namespace

void note(int error, const char *why) { noted = {error, why}; }

const char *noted_for(int error) { return noted.error == error ? noted.why : nullptr; }

int refuse_as_the_wheel(int error) {
    switch (error) {
    case -EINVAL:
        return refuse(error, "the node is null, or tw_node_init was forgotten");
    case -EBUSY:
        return refuse(error, "the node is pending on another runtime or wheel, or is a copy of a node");
    case -EPERM:
        return refuse(error, "the node is retired, and tw_node_init was not called since");
    case -ENOENT:
        return refuse(error, "the node is not pending");
    default:
        return refuse(error, nullptr);
    }
}

namespace {

// What an error can mean in this library.
const char *meaning_of(int error) {
    switch (error) {
    case -EPERM:
        return "not permitted: the node is retired, its set is being freed, or the system forbids it";
    case -ENOENT:
        return "not found: nothing has this name, handle, key or descriptor, or the node is not pending";
    case -ESTALE:
        return "the timer is gone: it has fired for the last time, or was cancelled";
    case -EBADF:
        return "not an open descriptor";
    case -ECHILD:
        return "this process was forked, and tw_runtime_after_fork was not called";
    case -ESHUTDOWN:
        return "the runtime is being freed: nothing is armed, started or made on it any more";
    case -EAGAIN:
        return "the system cannot create another thread";
    case -ENOMEM:
        return "out of memory";
    case -EBUSY:
        return "busy: the timer is pending elsewhere or running, the object is in use, or the runtime is "
               "being driven";
    case -EEXIST:
        return "the descriptor is already watched";
    case -EINVAL:
        return "a bad argument: null, negative, out of range or never initialised";
    case -ELOOP:
        return "the descriptor would watch itself";
    case -ENFILE:
    case -EMFILE:
        return "out of descriptors, or of handles for timers";
    case -ENOSPC:
        return "full: the capacity for timers, or the system's limit on watched descriptors, is used up";
    case -ERANGE:
        return "beyond the end of time";
    case -EOPNOTSUPP:
        return "this driver cannot do that";
    case -ENOSYS:
        return "the kernel lacks what the driver needs";
    case -EALREADY:
        return "the runtime is already running";
    default:
        return error < 0 ? "unknown error" : "no error";
    }
}

}  // namespace

}  // namespace tickwheel::runtime

TW_API const char *tw_explain(int error) {
    const char *const why = tickwheel::runtime::noted_for(error);
    return why != nullptr ? why : tickwheel::runtime::meaning_of(error);
}
