// The public functions of tw.h. Each validates its arguments, takes the lock, and hands on to the
// wheel; tw.h says what they do.
#include <tickwheel/tw.h>

#include "advance.hpp"
#include "api_guard.hpp"
#include "callback_wait.hpp"
#include "checker.hpp"
#include "clear.hpp"
#include "errors.hpp"
#include "locked_wheel.hpp"
#include "walk.hpp"

#define TW_API extern "C" __attribute__((visibility("default")))

namespace {

using namespace tickwheel::core;

// --- calls that change a node, once it is valid and the wheel's lock is held ------------------

// Arms a oneshot, or refuses to.
TW_INLINE_IF_FAST int arm_once(tw *w, tw_node *node, tick due, bool in_time) {
    if (node->state == TW_SHUT)
        return -eperm;
    if (!in_time)
        return -erange;
    set_wheel(*node, w);
    return wheel_in(w).arm_once(*node, due);
}

inline int arm_at(tw *w, tw_node *node, tick due) { return arm_once(w, node, due, is_tick(due)); }

inline int arm_after(tw *w, tw_node *node, tick delay) {
    const tick now = wheel_in(w).now();
    return arm_once(w, node, now + delay, in_range(now, now, delay));
}

inline int arm_within(tw *w, tw_node *node, tick first, tick slack) {
    const bool possible = wheel_in(w).can_choose(first, slack);
    return arm_once(w, node, possible ? wheel_in(w).choose(first, slack) : first, possible);
}

inline int cancel(tw *w, tw_node *node) {
    const int prevented = wheel_in(w).disarm(*node);
#if TW_RUNTIME
    if (wheel_in(w).how != locking::unlocked && prevented != 0)
        wheel_in(w).count_cancelled(label_of(*node));
#endif
    return prevented;
}

#if TW_RUNTIME
bool is_valid(const tw_grid &grid) {
    return grid.parts != 0 && grid.parts != UINT32_MAX && grid.early < grid.parts &&
           grid.period >= grid.parts && grid.fires <= TW_FIRES_MAX && is_at_most(grid.missed, TW_DELAY);
}
#endif

}  // namespace

TW_API int tw_init(tw *w, tw_tick now, unsigned flags) {
    if (w == nullptr || !is_tick(now) || (flags & ~unsigned{TW_UNLOCKED}) != 0)
        return -einval;
    TW_CHECKS(wheel_init(w));
    locked_wheel *const wheel = new (w->storage.bytes) locked_wheel();
    const bool is_locked = (flags & TW_UNLOCKED) == 0;
    wheel->self = self_of(w) + (is_locked ? tag_if_locked : 0);
    wheel->how = is_locked ? locking::locked : locking::unlocked;
    be_observed(*wheel);
    wheel->init(now);
    tw_port_lock_init(&wheel->lock);
    return 0;
}

TW_API int tw_node_init(tw_node *node, tw_callback *fn, void *arg) {
    TW_NOTE_CALLER;
    if (node == nullptr || fn == nullptr)
        return -einval;
    TW_CHECKS(node_init(node, reinterpret_cast<const void *>(fn)));
    *node = tw_node{};
    node->fn = fn;
    node->arg = arg;
    return 0;
}

// The link names of these two, see tw.h. Declared noexcept, as compilers deduce it of the originals.
#ifdef TW_NODE_NAME
TW_API int tw_init_plain(tw *w, tw_tick now, unsigned flags) noexcept TW_LINKED_AS("tw_init")
    __attribute__((alias("tw_init" TW_GEOMETRY_NAME)));
TW_API int tw_node_init_plain(tw_node *node, tw_callback *fn, void *arg) noexcept TW_LINKED_AS("tw_node_init")
    __attribute__((alias("tw_node_init" TW_NODE_NAME)));
#endif

TW_API int tw_arm_after(tw *w, tw_node *node, tw_tick delay) {
    TW_NOTE_CALLER;
    TW_CHECKS(to_arm(node));
    if (delay == 0)
        return -einval;
    return with_node<TW_IDLE, arm_after>(w, node, delay);
}

TW_API int tw_arm_at(tw *w, tw_node *node, tw_tick tick) {
    TW_NOTE_CALLER;
    TW_CHECKS(to_arm(node));
    return with_node<TW_IDLE, arm_at>(w, node, tick);
}

TW_API int tw_arm_within(tw *w, tw_node *node, tw_tick tick, tw_tick slack) {
    TW_NOTE_CALLER;
    TW_CHECKS(to_arm(node));
    return with_node<TW_IDLE, arm_within>(w, node, tick, slack);
}

TW_API tw_tick tw_choose(tw *w, tw_tick tick, tw_tick slack) {
    if (enter(w) != 0)
        return never;
    locked_wheel &wheel = wheel_in(w);
    return leave_with(w, wheel.can_choose(tick, slack) ? wheel.choose(tick, slack) : never);
}

TW_API int tw_arm_every(tw *w, tw_node *node, tw_tick first, tw_tick period, tw_missed missed,
                        uint32_t fires) {
    TW_NOTE_CALLER;
    TW_CHECKS(to_arm(node));
    if (period == 0 || fires > TW_FIRES_MAX || !is_at_most(missed, TW_DELAY))
        return -einval;
    if (!is_tick(first) || (wraps && period > farthest))
        return -erange;
    if (const int error = enter(w, node); error != 0)
        return error;
    if (node->state == TW_SHUT)
        return leave(w, -eperm);
    set_wheel(*node, w);
    const series next = {period, missed, fires};
    return leave(w, wheel_in(w).arm_every(*node, first, next));
}

#if TW_RUNTIME
TW_API int tw_arm_grid(tw *w, tw_node *node, const tw_grid *grid) {
    TW_NOTE_CALLER;
    TW_CHECKS(to_arm(node));
    if (grid == nullptr || !is_valid(*grid))
        return -einval;
    if (!is_tick(grid->first))
        return -erange;
    if (const int error = enter(w, node); error != 0)
        return error;
    locked_wheel &wheel = wheel_in(w);
    if (!wheel.accepts_parts(grid->parts))
        return leave(w, -einval);
    if (node->state == TW_SHUT)
        return leave(w, -eperm);
    set_wheel(*node, w);
    const series next = {grid->period, grid->missed, grid->fires};
    return leave(w, wheel.arm_grid(*node, grid->first, next, grid->early, grid->parts));
}
#endif

TW_API int tw_postpone(tw *w, tw_node *node, tw_tick tick) {
    TW_NOTE_CALLER;
    if (const int error = enter_to_move(w, node, tick); error != 0)
        return error;
    return leave(w, wheel_in(w).postpone(*node, tick) ? 0 : -einval);
}

TW_API int tw_move(tw *w, tw_node *node, tw_tick tick) {
    TW_NOTE_CALLER;
    if (const int error = enter_to_move(w, node, tick); error != 0)
        return error;
    wheel_in(w).move(*node, tick);
    return leave(w, 0);
}

#if TW_RUNTIME
TW_API int tw_postpone_all(tw *w, tw_tick by) {
    if (const int error = enter(w); error != 0)
        return error;
    locked_wheel &wheel = wheel_in(w);
    finish_shift(wheel);  // of another thread
    wheel.begin_shift(by);
    finish_shift(wheel);
    return leave(w, 0);
}
#endif

TW_API int tw_cancel(tw *w, tw_node *node) {
    TW_NOTE_CALLER;
    return with_node<TW_PENDING, cancel>(w, node);
}

TW_API int tw_node_shutdown(tw *w, tw_node *node) {
    TW_NOTE_CALLER;
    if (const int error = enter(w, node); error != 0)
        return error;
    const int prevented = cancel(w, node);
    node->state = TW_SHUT;
    return leave(w, prevented);
}

TW_API int tw_wait(tw *w, const tw_node *node) {
    if (!usable(w) || !usable(node))
        return -einval;
    if constexpr (has_threads) {
        locked_wheel &wheel = wheel_in(w);
        lock(wheel);
        wait_for_callback(wheel, node);
        unlock(wheel);
    }
    return 0;
}

TW_API int tw_clear(tw *w, tw_callback *each, void *arg) {
    if (const int error = enter(w); error != 0)
        return error;
    clear(wheel_in(w), each, arg);
    return leave(w, 0);
}

#if TW_RUNTIME
TW_API int tw_node_label(tw_node *node, unsigned label) {
    if (!usable(node) || label >= TW_LABELS)
        return -einval;
    if (is_pending(*node))
        return -ebusy;
    node->missed_and_label = missed_and_label(missed_in(node->missed_and_label), label);
    return 0;
}

TW_API uint64_t tw_cancelled(tw *w, unsigned label) {
    if (label >= TW_LABELS || enter(w) != 0)
        return 0;
    const std::uint64_t cancelled = wheel_in(w).cancelled(label);
    unlock(wheel_in(w));
    return cancelled;
}

TW_API int tw_set_caller(tw *w, tw_caller *caller, void *arg) {
    if (const int error = enter(w); error != 0)
        return error;
    wheel_in(w).caller = caller;
    wheel_in(w).caller_arg = arg;
    return leave(w, 0);
}

TW_API int64_t tw_each(tw *w, tw_visitor *visit, void *arg) {
    if (visit == nullptr || !usable(w))
        return -einval;
    locked_wheel &wheel = wheel_in(w);
    walk<shape> way(wheel);
    std::int64_t visits = 0;
    for (unsigned count = nodes_at_once; count == nodes_at_once;) {
        lock(wheel);
        finish_shift(wheel);
        count = way.copy();
        unlock(wheel);
        for (unsigned i = 0; i < count; ++i)
            visit(way.met(i).node, &way.met(i).was, arg);
        visits += count;
    }
    return visits;
}
#endif

TW_API int tw_pending(tw *w, const tw_node *node) {
    TW_NOTE_CALLER;
    return enter_pending(w, node) ? leave(w, 1) : 0;
}

TW_API tw_tick tw_expiry(tw *w, const tw_node *node) {
    TW_NOTE_CALLER;
    return enter_pending(w, node) ? leave_with(w, node->expiry) : never;
}

TW_API tw_tick tw_remaining(tw *w, const tw_node *node) {
    TW_NOTE_CALLER;
    return enter_pending(w, node) ? leave_with(w, distance(wheel_in(w).now(), node->expiry)) : never;
}

TW_API size_t tw_count(tw *w) {
    if (enter(w) != 0)
        return 0;
    const std::size_t count = wheel_in(w).count();
    unlock(wheel_in(w));
    return count;
}

TW_API tw_tick tw_now(tw *w) { return enter(w) != 0 ? never : leave_with(w, wheel_in(w).now()); }

TW_API tw_tick tw_next(tw *w) {
    if (enter(w) != 0)
        return never;
    locked_wheel &wheel = wheel_in(w);
    return leave_with(w, wheel.next(near_lead_of(wheel)));
}

TW_API int tw_first_due(tw *w, uint32_t looks, tw_tick *tick) {
    if (looks == 0 || tick == nullptr)
        return -einval;
    if (const int error = enter(w); error != 0)
        return error;
    locked_wheel &wheel = wheel_in(w);
    bool is_exact = false;
    const tw_tick distance = wheel.first_due(looks, &is_exact);
    if (distance == never)
        return leave(w, -enoent);
    *tick = wheel.now() + distance;
    return leave(w, is_exact ? 1 : 0);
}

TW_API tw_tick tw_overruns(tw *w) { return enter(w) != 0 ? 0 : leave_with(w, wheel_in(w).overruns()); }

TW_API tw_tick tw_due(tw *w) { return enter(w) != 0 ? never : leave_with(w, wheel_in(w).due_at()); }

TW_API tw_node *tw_running(tw *w) {
    if (enter(w) != 0)
        return nullptr;
    tw_node *const running = wheel_in(w).running();
    unlock(wheel_in(w));
    return running;
}

TW_API int tw_advance(tw *w, tw_tick now, uint32_t budget) {
    if (!is_tick(now) || budget == 0)
        return -einval;
    if (const int error = enter(w); error != 0)
        return error;
    TW_CHECKS(some(w));
    locked_wheel &wheel = wheel_in(w);
    return after(now, wheel.now()) && wheel.pass_quietly(now) ? leave(w, 0) : advance(w, now, budget);
}

TW_API int tw_update(tw *w) {
    if (const int error = enter(w); error != 0)
        return error;
    TW_CHECKS(some(w));
    const tick next = wheel_in(w).now() + 1;
    if (wheel_in(w).pass_quietly(next))
        return leave(w, 0);
    return is_tick(next) ? advance(w, next, TW_UNBOUNDED) : leave(w, -erange);
}

TW_API int tw_idle(tw *w, uint32_t budget) {
    if (budget == 0)
        return -einval;
    if (const int error = enter(w); error != 0)
        return error;
    work_budget left(wheel_in(w), budget);
    return leave(w, look_ahead(wheel_in(w), left, shape::round) ? 0 : 1);
}

TW_API int tw_interrupt(tw *w) {
    if (!usable(w))
        return -einval;
    __atomic_store_n(&wheel_in(w).interrupted, true, __ATOMIC_RELEASE);
    return 0;
}

// While a callback runs, the rest of the wheel is as between two steps, so there is no more to mend.
TW_API int tw_abandon(tw *w) {
    if (const int error = enter(w); error != 0)
        return error;
    locked_wheel &wheel = wheel_in(w);
    if (!wheel.advancing || wheel.advancer != tw_port_self())
        return leave(w, 0);
    end_callback(wheel);
    wheel.advancing = false;
    return leave(w, 1);
}

TW_API int tw_fork(tw *w, tw_fork_moment moment) {
    if (!usable(w) || !is_at_most(moment, TW_FORK_CHILD))
        return -einval;
    if constexpr (has_threads) {
        locked_wheel &wheel = wheel_in(w);
        if (moment == TW_FORK_PREPARE)
            lock(wheel);
        else if (moment == TW_FORK_PARENT)
            unlock(wheel);
        else
            become_child(wheel);
    }
    return 0;
}

TW_API int tw_check(tw *w, tw_report *report, void *arg) {
    if (const int error = enter(w); error != 0)
        return error;
    checker<shape> it(wheel_in(w), w, report, arg);
    return leave(w, it.run());
}

TW_API size_t tw_node_size(void) { return sizeof(tw_node); }
TW_API size_t tw_wheel_size(void) { return sizeof(tw); }

TW_API int tw_version(void) { return TW_VERSION; }

#define AS_TEXT_OF(number) #number
#define AS_TEXT(number) AS_TEXT_OF(number)
TW_API const char *tw_version_text(void) {
    return AS_TEXT(TW_VERSION_MAJOR) "." AS_TEXT(TW_VERSION_MINOR) "." AS_TEXT(TW_VERSION_PATCH);
}
