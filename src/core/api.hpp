// The functions of tw.h, for any kind of wheel; the header documents them. A function validates its
// arguments, takes the lock and calls the wheel. c_api.cpp exports the functions of the library's wheel;
// tests instantiate them for other shapes.
#pragma once

#include "advance.hpp"
#include "api_guard.hpp"
#include "callback_wait.hpp"
#include "cancel_all.hpp"
#include "change.hpp"
#include "engine.hpp"
#include "errors.hpp"
#if TW_RUNTIME
#include "walk.hpp"
#endif

namespace tickwheel::core {
namespace {

// --- nodes alone, the same for every wheel ----------------------------------------------

inline int init(tw_node *node, tw_callback *fn, void *arg) {
    if (has_validation && (node == nullptr || fn == nullptr))
        return -einval;
    TW_CHECKS(node_init(node, reinterpret_cast<const void *>(fn)));
    *node = tw_node{};
    node->fn = fn;
    node->arg = arg;
    return 0;
}

// --- nodes on a wheel -----------------------------------------------------------------------

inline bool is_policy(const tw_missed &missed) {
    return base::is_one_of(missed, TW_COALESCE, TW_BURST) && (!is_small || missed == TW_COALESCE);
}

template <class Wheel> struct api {
    static Wheel &wheel_of(tw *w) TW_REQUIRES(wheels_lock) { return wheel_in<Wheel>(w); }

    static int init(tw *w, tick now, unsigned flags) {
        if (has_validation && (w == nullptr || !is_tick(now) || flags > (is_small ? 0 : TW_UNLOCKED)))
            return -einval;
        TW_CHECKS(wheel_init(w));
        auto *const fresh = new (w->storage.bytes) Wheel();
        const bool is_locked = (flags & TW_UNLOCKED) == 0;
        fresh->self = self_of(w) + (is_locked ? tag_if_locked : 0);
        fresh->how = is_locked ? locking::locked : locking::unlocked;
        be_observed(*fresh);
        fresh->init();
        fresh->go_to(now);
#if TW_RUNTIME
        fresh->guard = &fresh->lock;
#endif
        tw_port_lock_init(&fresh->lock);
        return 0;
    }

    // --- arming ------------------------------------------------------------------------

    static int arm_after(tw *w, tw_node *node, tick delay) {
        TW_CHECKS(to_arm(node));
        if (has_validation && delay == 0)
            return -einval;
        return call<Wheel, change<Wheel>::arm_node_after>(w, node, delay);
    }

    static int arm_at(tw *w, tw_node *node, tick at) {
        TW_CHECKS(to_arm(node));
        return call<Wheel, change<Wheel>::arm_node_at>(w, node, at);
    }

    static int arm_within(tw *w, tw_node *node, tick first, tick slack) {
        TW_CHECKS(to_arm(node));
        if (const int error = enter(w, node); error != 0)
            return error;
        Wheel &wheel = wheel_of(w);
        if (const int error = check_armable(*node); error != 0)
            return leave(w, error);
        return leave(w,
                     wheel.choose(&first, slack) ? change<Wheel>::arm_node_at(wheel, *node, first) : -erange);
    }

    // Takes `missed` by reference, because a caller in C may pass a value that is no enumerator; see
    // is_one_of.
    static int arm_every(tw *w, tw_node *node, tick first, tick period, const tw_missed &missed,
                         std::uint32_t fires) {
        TW_CHECKS(to_arm(node));
        if (has_validation && (period == 0 || fires > TW_FIRES_MAX || !is_policy(missed)))
            return -einval;
        if (has_validation && (!is_tick(first) || !is_distance(period)))
            return -erange;
        if (const int error = enter(w, node); error != 0)
            return error;
        if (const int error = check_armable(*node); error != 0)
            return leave(w, error);
        set_wheel(*node, wheel_of(w));
        const series next = {period, missed, fires};
        wheel_of(w).arm_every(*node, first, next);
        return leave(w, 0);
    }

    // --- changing pending nodes --------------------------------------------------------

    static int postpone(tw *w, tw_node *node, tick to) {
        return call<Wheel, change<Wheel>::postpone_node>(w, node, to);
    }
    static int move(tw *w, tw_node *node, tick to) {
        return call<Wheel, change<Wheel>::move_node>(w, node, to);
    }
    static int cancel(tw *w, tw_node *node) { return call<Wheel, change<Wheel>::cancel_node>(w, node); }
    static int retire(tw *w, tw_node *node) { return call<Wheel, change<Wheel>::retire_node>(w, node); }

    static int wait(tw *w, const tw_node *node) {
        if (!usable(w) || !usable(node))
            return -einval;
        if constexpr (has_threads) {
            Wheel &wheel = wheel_in<Wheel>(w);
            lock(wheel);
            wait_for_callback(wheel, node);
            unlock(wheel);
        }
        return 0;
    }

    static int cancel_all(tw *w, tw_callback *each, void *arg) {
        if (const int error = enter(w); error != 0)
            return error;
        core::cancel_all(wheel_of(w), each, arg);
        return leave(w, 0);
    }

    // --- walking, and time that goes back ------------------------------------------------

#if TW_RUNTIME
    static tw_node *walk_next(tw *w, tw_walk *at) {
        if (at == nullptr || !usable(w))
            return nullptr;
        tw_node *met = nullptr;
        while (walk_some(w, *at, met) && met == nullptr) {
        }
        return met;
    }

    // One hold of the lock. Returns false once the walk is over.
    static bool walk_some(tw *w, tw_walk &at, tw_node *&met) {
        Wheel &wheel = wheel_in<Wheel>(w);
        walk<typename Wheel::shape> way(wheel, at);
        met = nullptr;
        if (way.is_over())
            return false;
        lock(wheel);
        finish_shift(wheel);
        met = way.next();
        unlock(wheel);
        return true;
    }

    static int walk_end(tw *w, tw_walk *at) {
        if (at == nullptr)
            return -einval;
        if (const int error = enter(w); error != 0)
            return error;
        walk<typename Wheel::shape>(wheel_of(w), *at).end();
        return leave(w, 0);
    }

    // Takes all timers out of their slots, as for a shift, and places them again, counted from the earlier
    // tick. Finishing another thread's shift releases the lock, so that comes before the checks.
    static int set_back(tw *w, tick now) {
        if (const int error = enter(w); error != 0)
            return error;
        Wheel &wheel = wheel_of(w);
        finish_shift(wheel);
        if (wheel.advancing)
            return leave(w, -ebusy);
        if (now > wheel.now)
            return leave(w, -einval);
        wheel.begin_shift(0);
        wheel.go_back_to(now);
        finish_shift(wheel);
        return leave(w, 0);
    }
#endif

    // --- queries -------------------------------------------------------------------------

    static int pending(tw *w, const tw_node *node) {
        if (!usable(node) || enter_to_read(w, locks_for_a_word) != 0)
            return 0;
        TW_CHECKS(used(w, node));
        const int pending = is_pending(*node) && names(*node, w) ? 1 : 0;
        end_read(w, locks_for_a_word);
        return pending;
    }

    static tick expiry(tw *w, const tw_node *node) {
        if (enter(w, node) != 0)
            return never;
        const tick at = is_pending(*node) ? node->expiry : never;
        leave(w, 0);
        return at;
    }

    static std::size_t count(tw *w) {
        if (enter_to_read(w, locks_for_a_word) != 0)
            return 0;
        const std::size_t count = wheel_of(w).timers();
        end_read(w, locks_for_a_word);
        return count;
    }

    static tick now(tw *w) { return read(w, &wheel_state::now, never); }
    static tick overruns(tw *w) { return read(w, &wheel_state::overruns, 0); }
    static tick due(tw *w) { return read(w, &wheel_state::due, never); }

    static tw_node *running(tw *w) {
        if (enter_to_read(w, locks_for_a_word) != 0)
            return nullptr;
        tw_node *const running = state_in(w).running;
        end_read(w, locks_for_a_word);
        return running;
    }

    static tick next(tw *w) {
        if (enter(w) != 0)
            return never;
        const tick next = wheel_of(w).next();
        unlock(wheel_of(w));
        return next;
    }

#if TW_RUNTIME || TW_TREE
    static tw_node *first(tw *w, std::uint32_t looks) {
        if (enter(w) != 0)
            return nullptr;
        tw_node *const node = wheel_of(w).first(looks);
        unlock(wheel_of(w));
        return node;
    }
#endif

    // --- advancing -----------------------------------------------------------------------

    static int advance(tw *w, tick now, std::uint32_t budget) {
        if (has_validation && (!is_tick(now) || (is_small ? budget != TW_UNBOUNDED : budget == 0)))
            return -einval;
        if (const int error = enter(w); error != 0)
            return error;
        return advance_entered(w, now, budget);
    }

    static int take(tw *w, tick now, tw_fire *fire) {
        if (has_validation && (!is_tick(now) || fire == nullptr))
            return -einval;
        if (const int error = enter(w); error != 0)
            return error;
        TW_CHECKS(some(w));
        Wheel &wheel = wheel_of(w);
        if (!before(now, wheel.now) && wheel.pass_quietly(now))
            return leave(w, 0);
        return take_with_work<Wheel>(w, now, *fire);
    }

    static int update(tw *w) {
        if (const int error = enter(w); error != 0)
            return error;
        TW_CHECKS(some(w));
        const tick next = wheel_of(w).now + 1;
        if (wheel_of(w).pass_quietly(next))
            return leave(w, 0);
        const bool is_refused =
            !is_tick(next) && !wheel_of(w).advancing;  // -EBUSY takes precedence over -ERANGE
        return is_refused ? leave(w, -erange) : core::advance_with_work<Wheel>(w, TW_UNBOUNDED, next);
    }

    static int idle(tw *w, std::uint32_t budget) {
        if (has_validation && budget == 0)
            return -einval;
        if (const int error = enter(w); error != 0)
            return error;
        wheel_of(w).begin_idle();
        return leave(w, look_ahead(wheel_of(w), budget) ? 0 : 1);
    }

    static int check(tw *w, tw_report *report, void *arg) {
        if (const int error = enter(w); error != 0)
            return error;
        return leave(w, core::check(wheel_of(w), w, report, arg));
    }

  private:
    TW_INLINE_ALWAYS static int advance_entered(tw *w, tick now, std::uint32_t budget)
        TW_RELEASE(wheels_lock) {
        TW_CHECKS(some(w));
        Wheel &wheel = wheel_of(w);
        // A tree does not need this: its usual path finds just as quickly that nothing is due.
        if (nodes_move && !before(now, wheel.now) && wheel.pass_quietly(now))
            return leave(w, 0);
        return core::advance_with_work<Wheel>(w, budget, now);
    }
};

}  // namespace
}  // namespace tickwheel::core
