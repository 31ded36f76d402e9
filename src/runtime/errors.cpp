// What the errors mean here, which is often more than the system's own words say.
#include "runtime.hpp"

TW_API const char *tw_strerror(int error) {
    switch (error) {
    case -EPERM:
        return "not permitted: the node was shut down, its set is being freed, the descriptor cannot be "
               "watched, or the system forbids it";
    case -ENOENT:
        return "there is none: the node is not pending, no timer has this handle or key, the descriptor "
               "is not watched, or no driver has this name";
    case -ESTALE:
        return "the timer is gone: it has fired for the last time, or was stopped";
    case -EBADF:
        return "not an open descriptor";
    case -ECHILD:
        return "this process was forked, and tw_runtime_after_fork was not called";
    case -EAGAIN:
        return "the system has no room for another thread";
    case -ENOMEM:
        return "out of memory";
    case -EBUSY:
        return "busy: the node is pending elsewhere, its callback runs, something still uses this, or a "
               "callback or somebody else is driving this runtime";
    case -EEXIST:
        return "the descriptor is watched already";
    case -EINVAL:
        return "an argument is null, negative, out of range or never initialised, or a period no multiple of "
               "the tick";
    case -ELOOP:
        return "a descriptor that would watch itself";
    case -ENFILE:
    case -EMFILE:
        return "out of descriptors, or of sets of timers";
    case -ENOSPC:
        return "full: as many timers as the capacity, or the system's limit of watched descriptors";
    case -ERANGE:
        return "beyond the end of time";
    case -EOPNOTSUPP:
        return "this driver cannot do that";
    case -EALREADY:
        return "the runtime runs already";
    default:
        return error < 0 ? "unknown error" : "no error";
    }
}
