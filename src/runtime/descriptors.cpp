// Descriptors: those that a driver watches for the user, and the one that a driver
// hands out so that the user's own loop can watch the runtime. Any thread; dispatching,
// one at a time.
#include "turn.hpp"

namespace {

using namespace tickwheel::runtime;

int change_watch(tw_runtime *rt, tw_watch_change change, int fd, std::uint32_t events, tw_watch_callback *fn,
                 void *arg) {
    if (const int error = refusal(rt); error != 0)
        return error;
    if (fd < 0 || (change == TW_WATCH_ADD && fn == nullptr))
        return -EINVAL;
    if (rt->driver->watch == nullptr)
        return -EOPNOTSUPP;
    return rt->driver->watch(rt->driver_state, change, fd, events, fn, arg);
}

int program(tw_runtime &rt) {
    const tw_deadlines until = fall_asleep(rt);
    return rt.driver->program(rt.driver_state, &until);
}

int refusal_to_lend(const tw_runtime *rt) {
    if (const int error = refusal(rt); error != 0)
        return error;
    return rt->driver->descriptor == nullptr ? -EOPNOTSUPP : 0;
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
    if (const int error = refusal_to_lend(rt); error != 0)
        return error;
    const borrowed mine(*rt);
    if (mine.refusal() != 0)
        return mine.refusal();
    if (const int error = program(*rt); error != 0)
        return error;
    rt->lent = true;
    return rt->driver->descriptor(rt->driver_state);
}

TW_API int tw_runtime_dispatch(tw_runtime *rt) {
    if (const int error = refusal_to_lend(rt); error != 0)
        return error;
    const borrowed mine(*rt);
    if (mine.refusal() != 0)
        return mine.refusal();
    {
        const inside here(*rt);
        wake_up(*rt);
        rt->driver->program(rt->driver_state, nullptr);
        fire_due(*rt);
    }
    if (const int error = refusal(rt); error != 0)
        return error;  // a callback has forked: the timer is the parent's
    return program(*rt);
}
