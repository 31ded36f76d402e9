// The public functions of tw.h. Each validates its arguments, takes the lock, and hands on to the
// wheel; tw.h says what they do.
#include <tickwheel/tw.h>

#include "advance.hpp"
#include "api_guard.hpp"
#include "callback_wait.hpp"
#include "change.hpp"
#include "clear.hpp"
#include "errors.hpp"
#include "slot_checker.hpp"
#include "tree_checker.hpp"
#include "walk.hpp"
#include "wheel_in.hpp"

#define TW_API extern "C" __attribute__((visibility("default")))

namespace {

using namespace tickwheel::core;

#if TW_WINDOWS
// Replaces a tick by the one to arm for in a window that begins there.
TW_ONE_COPY int choose(tw *w, tick *first, tick slack) {
    const int error = enter(w);
    return error != 0 ? error : leave(w, wheel_in(w).choose(first, slack) ? 0 : -erange);
}
#endif

#if TW_PERIODIC
bool is_policy(const tw_missed &missed) {
    return has_policies ? is_at_most(missed, TW_DELAY) : missed == TW_SKIP;
}
#endif

// When a node is due: as a tick, or counted from now. `never` if it is not pending on w.
TW_ONE_COPY tick expiry(tw *w, const tw_node *node, bool from_now) {
    tick at = never;
    if (enter(w, node) == 0) {
        if (is_pending(*node))
            at = from_now ? distance(wheel_in(w).now, node->expiry) : node->expiry;
        leave(w, 0);
    }
    return at;
}

#if TW_RUNTIME
bool is_valid(const tw_grid &grid) {
    return grid.parts != 0 && grid.parts != UINT32_MAX && grid.early < grid.parts &&
           grid.period >= grid.parts && grid.fires <= TW_FIRES_MAX && is_policy(grid.missed);
}
#endif

}  // namespace

TW_API int tw_init(tw *w, tw_tick now, unsigned flags) {
    if (has_validation && (w == nullptr || !is_tick(now) || flags > (has_lock_choice ? TW_UNLOCKED : 0)))
        return -einval;
    TW_CHECKS(wheel_init(w));
    wheel *const fresh = new (w->storage.bytes) wheel();
    const bool is_locked = (flags & TW_UNLOCKED) == 0;
    fresh->self = self_of(w) + (is_locked ? tag_if_locked : 0);
    fresh->how = is_locked ? locking::locked : locking::unlocked;
    be_observed(*fresh);
    fresh->init();
    fresh->go_to(now);
    tw_port_lock_init(&fresh->lock);
    return 0;
}

TW_API int tw_node_init(tw_node *node, tw_callback *fn, void *arg) {
    TW_NOTE_CALLER;
    if (has_validation && (node == nullptr || fn == nullptr))
        return -einval;
    TW_CHECKS(node_init(node, reinterpret_cast<const void *>(fn)));
    *node = tw_node{};
    node->fn = fn;
    node->arg = arg;
    return 0;
}

TW_API int tw_arm_after(tw *w, tw_node *node, tw_tick delay) {
    TW_NOTE_CALLER;
    TW_CHECKS(to_arm(node));
    if (has_validation && delay == 0)
        return -einval;
    return call<change::arm_after>(w, node, delay);
}

TW_API int tw_arm_at(tw *w, tw_node *node, tw_tick tick) {
    TW_NOTE_CALLER;
    TW_CHECKS(to_arm(node));
    return call<change::arm_at>(w, node, tick);
}

#if TW_WINDOWS
TW_API int tw_arm_within(tw *w, tw_node *node, tw_tick tick, tw_tick slack) {
    TW_NOTE_CALLER;
    TW_CHECKS(to_arm(node));
    if constexpr (has_room)
        return call<change::arm_within>(w, node, tick, slack);
    const int error = choose(w, &tick, slack);
    return error != 0 ? error : call<change::arm_at>(w, node, tick);
}

TW_API tw_tick tw_choose(tw *w, tw_tick tick, tw_tick slack) {
    return choose(w, &tick, slack) == 0 ? tick : never;
}
#endif

#if TW_PERIODIC
TW_API int tw_arm_every(tw *w, tw_node *node, tw_tick first, tw_tick period, tw_missed missed,
                        uint32_t fires) {
    TW_NOTE_CALLER;
    TW_CHECKS(to_arm(node));
    if (has_validation && (period == 0 || fires > TW_FIRES_MAX || !is_policy(missed)))
        return -einval;
    if (has_validation && (!is_tick(first) || (wraps && period > farthest)))
        return -erange;
    if (const int error = enter(w, node); error != 0)
        return error;
    if (node->state == TW_SHUT)
        return leave(w, -eperm);
    set_wheel(*node, w);
    const series next = {period, missed, fires};
    return leave(w, wheel_in(w).arm_every(*node, first, next));
}
#endif

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
    wheel &wheel = wheel_in(w);
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
    return call<change::postpone>(w, node, tick);
}

TW_API int tw_move(tw *w, tw_node *node, tw_tick tick) {
    TW_NOTE_CALLER;
    return call<change::move>(w, node, tick);
}

#if TW_RUNTIME
TW_API int tw_postpone_all(tw *w, tw_tick by) {
    if (const int error = enter(w); error != 0)
        return error;
    wheel &wheel = wheel_in(w);
    finish_shift(wheel);  // of another thread
    wheel.begin_shift(by);
    finish_shift(wheel);
    return leave(w, 0);
}
#endif

TW_API int tw_cancel(tw *w, tw_node *node) {
    TW_NOTE_CALLER;
    return call<change::cancel>(w, node, 0);
}

TW_API int tw_node_shutdown(tw *w, tw_node *node) {
    TW_NOTE_CALLER;
    return call<change::shut_down>(w, node, 0);
}

TW_API int tw_wait(tw *w, const tw_node *node) {
    if (!usable(w) || !usable(node))
        return -einval;
    if constexpr (has_threads) {
        wheel &wheel = wheel_in(w);
        lock(wheel);
        wait_for_callback(wheel, node);
        unlock(wheel);
    }
    return 0;
}

#if TW_CLEAR
TW_API int tw_clear(tw *w, tw_callback *each, void *arg) {
    if (const int error = enter(w); error != 0)
        return error;
    clear(wheel_in(w), each, arg);
    return leave(w, 0);
}
#endif

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
    wheel &wheel = wheel_in(w);
    walk way(wheel);
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
    if (!usable(node) || enter_to_read(w, locks_for_a_word) != 0)
        return 0;
    TW_CHECKS(used(w, node));
    const int pending = is_pending(*node) && names(*node, w) ? 1 : 0;
    end_read(w, locks_for_a_word);
    return pending;
}

TW_API tw_tick tw_expiry(tw *w, const tw_node *node) {
    TW_NOTE_CALLER;
    return expiry(w, node, false);
}

TW_API tw_tick tw_remaining(tw *w, const tw_node *node) {
    TW_NOTE_CALLER;
    return expiry(w, node, true);
}

TW_API size_t tw_count(tw *w) {
    if (enter_to_read(w, locks_for_a_word) != 0)
        return 0;
    const std::size_t count = wheel_in(w).nodes();
    end_read(w, locks_for_a_word);
    return count;
}

TW_API tw_tick tw_now(tw *w) { return read(w, &wheel::now, never); }

TW_API tw_tick tw_next(tw *w) {
#if TW_TREE  // nothing but fires asks for attention, and the earliest is known
    tw_tick next = never;
    const int error = tw_first_due(w, 1, &next);
    return error < 0 && wraps ? never : as_answer(next);  // else `never` is no tick, and the answer already
#else
    if (enter(w) != 0)
        return never;
    const tw_tick next = wheel_in(w).next();
    unlock(wheel_in(w));
    return next;
#endif
}

TW_API int tw_first_due(tw *w, uint32_t looks, tw_tick *tick) {
    if (has_validation && (looks == 0 || tick == nullptr))
        return -einval;
    const int error = enter(w);
    return error != 0 ? error : leave(w, wheel_in(w).first_due(looks, tick));
}

#if TW_OVERRUNS
TW_API tw_tick tw_overruns(tw *w) { return read(w, &wheel::overruns, 0); }
#endif

TW_API tw_tick tw_due(tw *w) { return read(w, &wheel::due, never); }

TW_API tw_node *tw_running(tw *w) {
    if (enter_to_read(w, locks_for_a_word) != 0)
        return nullptr;
    tw_node *const running = wheel_in(w).running;
    end_read(w, locks_for_a_word);
    return running;
}

TW_API int tw_advance(tw *w, tw_tick now, uint32_t budget) {
    if (has_validation && (!is_tick(now) || (has_budget ? budget == 0 : budget != TW_UNBOUNDED)))
        return -einval;
    if (const int error = enter(w); error != 0)
        return error;
    TW_CHECKS(some(w));
    wheel &wheel = wheel_in(w);
    // In a tree the usual path finds just as quickly that nothing is due.
    if (!TW_TREE && after(now, wheel.now) && wheel.pass_quietly(now))
        return leave(w, 0);
    return advance(w, budget, now);
}

TW_API int tw_update(tw *w) {
    if (const int error = enter(w); error != 0)
        return error;
    TW_CHECKS(some(w));
    const tick next = wheel_in(w).now + 1;
    if (wheel_in(w).pass_quietly(next))
        return leave(w, 0);
    const bool is_refused = !is_tick(next) && !wheel_in(w).advancing;  // if it advances, that counts first
    return is_refused ? leave(w, -erange) : advance(w, TW_UNBOUNDED, next);
}

TW_API int tw_idle(tw *w, uint32_t budget) {
    if (has_validation && budget == 0)
        return -einval;
    if (const int error = enter(w); error != 0)
        return error;
    wheel_in(w).begin_idle();
    return leave(w, look_ahead(wheel_in(w), budget) ? 0 : 1);
}

#if TW_BUDGET
TW_API int tw_interrupt(tw *w) {
    if (!usable(w))
        return -einval;
    __atomic_store_n(&wheel_in(w).interrupted, true, __ATOMIC_RELEASE);
    return 0;
}
#endif

// While a callback runs, the rest of the wheel is as between two steps, so there is no more to mend.
TW_API int tw_abandon(tw *w) {
    if (const int error = enter(w); error != 0)
        return error;
    wheel &wheel = wheel_in(w);
    if (has_threads && wheel.advancer != tw_port_self())
        return leave(w, 0);
    const int was_advancing = wheel.advancing ? 1 : 0;
    wheel.advancing = false;
    end_callback(wheel);
    return leave(w, was_advancing);
}

TW_API int tw_fork(tw *w, tw_fork_moment moment) {
    if (!usable(w) || !is_at_most(moment, TW_FORK_CHILD))
        return -einval;
    if constexpr (has_threads) {
        wheel &wheel = wheel_in(w);
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
    return leave(w, check(wheel_in(w), w, report, arg));
}

TW_API size_t tw_node_size(void) { return sizeof(tw_node); }
TW_API size_t tw_wheel_size(void) { return sizeof(tw); }

TW_API int tw_version(void) { return TW_VERSION; }

// The plain names of functions that have longer link names, see tw.h. The first two are noexcept, as
// compilers deduce of the originals; callbacks may throw through the others.
#ifdef TW_NODE_NAME
#define TW_PLAIN_NAME(function, long_name) TW_LINKED_AS(function) __attribute__((alias(function long_name)))
TW_API int tw_init_plain(tw *w, tw_tick now, unsigned flags) noexcept
    TW_PLAIN_NAME("tw_init", TW_GEOMETRY_NAME);
TW_API int tw_node_init_plain(tw_node *node, tw_callback *fn, void *arg) noexcept
    TW_PLAIN_NAME("tw_node_init", TW_NODE_NAME);
TW_API int tw_advance_plain(tw *w, tw_tick now, uint32_t budget)
    TW_PLAIN_NAME("tw_advance", TW_GEOMETRY_NAME);
TW_API int tw_update_plain(tw *w) TW_PLAIN_NAME("tw_update", TW_GEOMETRY_NAME);
#endif

#define AS_TEXT_OF(number) #number
#define AS_TEXT(number) AS_TEXT_OF(number)
TW_API const char *tw_version_text(void) {
    return AS_TEXT(TW_VERSION_MAJOR) "." AS_TEXT(TW_VERSION_MINOR) "." AS_TEXT(TW_VERSION_PATCH);
}
