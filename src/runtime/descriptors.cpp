// Descriptors: those that a driver watches for the user, and the one that a driver hands out so that the
// user's own loop can watch the runtime. Any thread; tw_runtime_fd and tw_runtime_dispatch one at a time
// (drive_permit).
#include "turn.hpp"

namespace {

using namespace tickwheel::runtime;

int change_watch(tw_runtime *rt, tw_watch_change change, int fd, std::uint32_t events, tw_watch_callback *fn,
                 void *arg) {
    if (const int error = change == TW_WATCH_ADD ? check_arming(rt) : check_usable(rt); error != 0)
        return error;
    if (fd < 0)
        return refuse(-EINVAL, "the descriptor is negative");
    if (change == TW_WATCH_ADD && fn == nullptr)
        return refuse(-EINVAL, "the function is null");
    if (rt->driver->watch == nullptr)
        return refuse(-EOPNOTSUPP, "this driver watches no descriptors; \"epoll\" and \"uring\" do");
    const no_thread_cancel guard;
    const int error = rt->driver->watch(rt->driver_state, change, fd, events, fn, arg);
    if (error == -ENOENT)
        return refuse(error, "the descriptor is not watched");
    if (error == -EPERM)
        return refuse(error, "descriptors of this kind cannot be watched: a regular file, for example");
    return explain_system_error(error);
}

int check_lending(const tw_runtime *rt) {
    if (const int error = check_usable(rt); error != 0)
        return error;
    return rt->driver->descriptor != nullptr
               ? 0
               : refuse(-EOPNOTSUPP, "this driver has no descriptor; \"timerfd\" has one");
}

}  // namespace

TW_API int tw_runtime_watch(tw_runtime *rt, int fd, uint32_t events, tw_watch_callback *fn, void *arg) {
    return change_watch(rt, TW_WATCH_ADD, fd, events, fn, arg);
}

TW_API int tw_runtime_watch_modify(tw_runtime *rt, int fd, uint32_t events) {
    return change_watch(rt, TW_WATCH_MODIFY, fd, events, nullptr, nullptr);
}

TW_API int tw_runtime_unwatch(tw_runtime *rt, int fd) {
    return change_watch(rt, TW_WATCH_REMOVE, fd, 0, nullptr, nullptr);
}

TW_API int tw_runtime_fd(tw_runtime *rt) {
    registry::check_runtime(rt, __builtin_return_address(0));
    if (const int error = check_lending(rt); error != 0)
        return error;
    const no_thread_cancel guard;
    const drive_permit permit(*rt);
    if (permit.error() != 0)
        return permit.error();
    if (const int error = program(*rt); error != 0)
        return error;
    const int fd = rt->driver->descriptor(rt->driver_state);
    if (fd >= 0)
        rt->lent = true;
    return fd;
}

// Programs the descriptor last, so that the descriptor covers every node that was armed before. A call that
// later arms a node with an earlier deadline makes the descriptor readable (tests/drivers/timerfd_wake.pml).
TW_API int tw_runtime_dispatch(tw_runtime *rt) {
    registry::check_runtime(rt, __builtin_return_address(0));
    if (const int error = check_lending(rt); error != 0)
        return error;
    return drive(*rt, [rt] {
        rt->driver->program(rt->driver_state, nullptr);
        mark_awake(*rt);
        measure_after_sleep(*rt);
        fire_due(*rt);
        const int error = check_usable(rt);  // in the child of a fork the descriptor is the parent's
        return error != 0 ? error : program(*rt);
    });
}
