// The edge of the core: every public function validates, takes the lock, and hands
// on to the wheel, which may then rely on what it gets.
#include <tickwheel/tw.h>

#include "advance.hpp"
#include "api_guard.hpp"
#include "check.hpp"
#include "errors.hpp"
#include "locked_wheel.hpp"

#define TW_API extern "C" __attribute__((visibility("default")))

namespace {

using namespace tickwheel::core;

// With the lock held, which this lets go; how the node is to fire on is set already.
TW_INLINE_IF_FAST int arm(tw *w, tw_node *node, tick first) {
    locked_wheel &wheel = wheel_in(w);
    const bool was_pending = is_pending(node);
    if (was_pending)
        wheel.slots.take(*node);
    else
        ++wheel.count;
    node->expiry = first;
    set_wheel(*node, w);
    node->state = TW_PENDING;
    wheel.place(*node);
    return leave(w, was_pending ? 1 : 0);
}

// The same for a oneshot.
TW_INLINE_IF_FAST int arm_once(tw *w, tw_node *node, tick first, bool in_time) {
    if (node->state == TW_SHUT)
        return leave(w, -eperm);
    if (!in_time)
        return leave(w, -erange);
    node->period = 0;
    node->fires_left = 0;
    return arm(w, node, first);
}

// How many fires, and how missed ones are dealt with, of a node whose first tick comes next.
TW_ONE_COPY int arm_periodic(tw *w, tw_node *node, tick first, tick period, tw_missed missed,
                             std::uint32_t fires) {
    node->period = period;
    node->fires_left = static_cast<std::uint16_t>(fires);
    // Its callback may read it meanwhile.
    __atomic_store_n(&node->missed, static_cast<std::uint8_t>(missed), __ATOMIC_RELAXED);
    return arm(w, node, first);
}

#if TW_RUNTIME
bool is_valid(const tw_grid &grid) {
    return grid.parts != 0 && grid.parts != UINT32_MAX && grid.early < grid.parts &&
           grid.period >= grid.parts && grid.fires <= TW_FIRES_MAX &&
           static_cast<unsigned>(grid.missed) <= TW_DELAY;
}

// The rule of a wheel that has grids: with its lock.
bool set_to_next_in_parts(tw_node &node, tick now, tick *overruns) {
    return set_to_next_on_grid(node, wheel_in(node.wheel).parts, now, overruns);
}
#endif

TW_ONE_COPY int enter_to_move(tw *w, tw_node *node, tick t) {
    if (!is_tick(t))
        return -erange;
    const int refusal = enter(w, node);
    return refusal != 0 || is_pending(node) ? refusal : leave(w, -enoent);
}

TW_ONE_COPY int disarm(locked_wheel &wheel, tw_node *node) {
    if (!is_pending(node))
        return 0;
    TW_ASSERT_OF(*node, wheel.count != 0);
    wheel.slots.take(*node);
    node->state = TW_IDLE;
    --wheel.count;
    return 1;
}

#if TW_RUNTIME
// Lets go of the lock now and then; at the end none is left.
TW_ONE_COPY void finish_shift(locked_wheel &wheel) {
    for (work_budget moves(wheel, TW_UNBOUNDED); wheel.shift_one();)
        moves.spend_one();
}
#endif

// Whether the window ends by the last tick.
TW_ONE_COPY bool can_choose(const locked_wheel &wheel, tick first, tick slack) {
    return is_tick(first) && in_range(wheel.now, first, slack);
}

TW_ONE_COPY tick read(tw *w, tick locked_wheel::*field) {
    return enter(w) != 0 ? never : leave_with(w, wheel_in(w).*field);
}

// Sleeps until a callback has returned, or a node was handed out: by the count of these. It is
// read under the lock that guards it, and compared again by the kernel: a return in between
// is not missed.
[[maybe_unused]] void sleep_until_one_more(locked_wheel &wheel, std::uint32_t &count) {
    const std::uint32_t seen = count;
    ++wheel.awaiting;
    do {
        unlock(wheel);
        tw_port_wait(&count, seen, INT64_MAX);
        lock(wheel);
    } while (count == seen);
    --wheel.awaiting;
}

// Whether another thread that clears the wheel hands this node out just now.
[[maybe_unused]] bool is_handed_out(const locked_wheel &wheel, const tw_node *node) {
    for (const clearing *each = wheel.clearings; each != nullptr; each = each->next)
        if (each->at == node && each->thread != tw_port_self())
            return true;
    return false;
}

// Says, while it lives, that this thread clears the wheel. Made and gone with the lock held.
class own_clearing {
  public:
    explicit own_clearing(locked_wheel &wheel) : wheel_(wheel) {
        if constexpr (has_threads) {
            mine_ = {wheel.clearings, tw_port_self(), nullptr};
            wheel.clearings = &mine_;
        }
    }
    ~own_clearing() {
        if constexpr (has_threads) {
            clearing **link = &wheel_.clearings;
            while (*link != &mine_)
                link = &(*link)->next;
            *link = mine_.next;
        }
    }

    // Around `each`, with the lock held, which the second may let go meanwhile.
    void begin_at(const tw_node &node) { mine_.at = &node; }
    void end_at() {
        mine_.at = nullptr;
        if constexpr (has_threads)
            count_one(wheel_, wheel_.handed_out);
    }

    own_clearing(const own_clearing &) = delete;
    own_clearing &operator=(const own_clearing &) = delete;
    own_clearing(own_clearing &&) = delete;
    own_clearing &operator=(own_clearing &&) = delete;

  private:
    locked_wheel &wheel_;
    clearing mine_ = {};
};

// Of what is being cleared, only this thread's share goes on; if it has none, the nodes
// that have yet to leave are pending as before.
[[maybe_unused]] void keep_own_clearings(locked_wheel &wheel) {
    clearing **link = &wheel.clearings;
    while (*link != nullptr) {
        if ((*link)->thread == tw_port_self())
            link = &(*link)->next;
        else
            *link = (*link)->next;
    }
    while (wheel.clearings == nullptr && !is_empty(wheel.leaving)) {
        tw_node &node = node_of(behind(wheel.leaving));
        wheel.slots.take(node);
        wheel.place(node);
    }
}

// P13: of all threads only the caller's is left. It holds the lock; the word also
// counts waiters that are gone.
[[maybe_unused]] void be_alone(locked_wheel &wheel) {
    keep_own_clearings(wheel);
    wheel.awaiting = 0;
    if (wheel.advancing && wheel.advancer != tw_port_self()) {
        wheel.advancing = false;
        wheel.forget_running();
    }
    wheel.interrupted = wheel.advancing;
    tw_port_lock_init(&wheel.lock);
}

}  // namespace

TW_API int tw_init(tw *w, tw_tick now, unsigned flags) {
    if (w == nullptr || !is_tick(now) || (flags & ~unsigned{TW_UNLOCKED}) != 0)
        return -einval;
    locked_wheel *const wheel = new (w->storage.bytes) locked_wheel();
    wheel->self = w;
    wheel->how = (flags & TW_UNLOCKED) != 0 ? locking::unlocked : locking::locked;
    be_observed(*wheel);
    wheel->open(now);
    tw_port_lock_init(&wheel->lock);
    return 0;
}

TW_API int tw_node_init(tw_node *node, tw_callback *fn, void *arg) {
    if (node == nullptr || fn == nullptr)
        return -einval;
    *node = tw_node{};
    node->fn = fn;
    node->arg = arg;
    return 0;
}

// What these two are linked as, see tw.h; noexcept, as compilers may have found that they are.
#ifdef TW_NODE_NAME
TW_API int tw_init_plain(tw *w, tw_tick now, unsigned flags) noexcept TW_LINKED_AS("tw_init")
    __attribute__((alias("tw_init" TW_GEOMETRY_NAME)));
TW_API int tw_node_init_plain(tw_node *node, tw_callback *fn, void *arg) noexcept TW_LINKED_AS("tw_node_init")
    __attribute__((alias("tw_node_init" TW_NODE_NAME)));
#endif

TW_API int tw_arm_after(tw *w, tw_node *node, tw_tick delay) {
    if (const int refusal = delay == 0 ? -einval : enter(w, node); refusal != 0)
        return refusal;
    const tick now = wheel_in(w).now;
    return arm_once(w, node, now + delay, in_range(now, now, delay));
}

TW_API int tw_arm_at(tw *w, tw_node *node, tw_tick tick) {
    const int refusal = enter(w, node);
    return refusal != 0 ? refusal : arm_once(w, node, tick, is_tick(tick));
}

TW_API int tw_arm_within(tw *w, tw_node *node, tw_tick tick, tw_tick slack) {
    if (const int refusal = enter(w, node); refusal != 0)
        return refusal;
    const bool possible = can_choose(wheel_in(w), tick, slack);
    return arm_once(w, node, possible ? wheel_in(w).choose(tick, slack) : tick, possible);
}

TW_API tw_tick tw_choose(tw *w, tw_tick tick, tw_tick slack) {
    if (enter(w) != 0)
        return never;
    locked_wheel &wheel = wheel_in(w);
    return leave_with(w, can_choose(wheel, tick, slack) ? wheel.choose(tick, slack) : never);
}

TW_API int tw_arm_every(tw *w, tw_node *node, tw_tick first, tw_tick period, tw_missed missed,
                        uint32_t fires) {
    if (period == 0 || fires > TW_FIRES_MAX || static_cast<unsigned>(missed) > TW_DELAY)
        return -einval;
    if (!is_tick(first) || (wraps && period > farthest))
        return -erange;
    if (const int refusal = enter(w, node); refusal != 0)
        return refusal;
    if (node->state == TW_SHUT)
        return leave(w, -eperm);
    if (wheel_in(w).rearm == nullptr)
        wheel_in(w).rearm = set_to_next;
#if TW_RUNTIME
    node->part = 0;
#endif
    return arm_periodic(w, node, first, period, missed, fires);
}

#if TW_RUNTIME
TW_API int tw_arm_grid(tw *w, tw_node *node, const tw_grid *grid) {
    if (grid == nullptr || !is_valid(*grid))
        return -einval;
    if (!is_tick(grid->first))
        return -erange;
    if (const int refusal = enter(w, node); refusal != 0)
        return refusal;
    locked_wheel &wheel = wheel_in(w);
    if (wheel.parts != 0 && wheel.parts != grid->parts)
        return leave(w, -einval);
    if (node->state == TW_SHUT)
        return leave(w, -eperm);
    wheel.parts = grid->parts;
    wheel.rearm = set_to_next_in_parts;
    node->part = 1 + grid->early;
    return arm_periodic(w, node, grid->first, grid->period, grid->missed, grid->fires);
}
#endif

TW_API int tw_postpone(tw *w, tw_node *node, tw_tick tick) {
    if (const int refusal = enter_to_move(w, node, tick); refusal != 0)
        return refusal;
    if (before(wheel_in(w).now, tick, node->expiry))
        return leave(w, -einval);
    node->expiry = tick;
    begin_grid(*node);
    return leave(w, 0);
}

TW_API int tw_move(tw *w, tw_node *node, tw_tick tick) {
    if (const int refusal = enter_to_move(w, node, tick); refusal != 0)
        return refusal;
    locked_wheel &wheel = wheel_in(w);
    wheel.slots.take(*node);
    node->expiry = tick;
    begin_grid(*node);
    wheel.place(*node);
    return leave(w, 0);
}

#if TW_RUNTIME
TW_API int tw_postpone_all(tw *w, tw_tick by) {
    if (const int refusal = enter(w); refusal != 0)
        return refusal;
    locked_wheel &wheel = wheel_in(w);
    finish_shift(wheel);  // what another thread has begun
    wheel.begin_shift(by);
    finish_shift(wheel);
    return leave(w, 0);
}
#endif

TW_API int tw_cancel(tw *w, tw_node *node) {
    const int refusal = enter(w, node);
    return refusal != 0 ? refusal : leave(w, disarm(wheel_in(w), node));
}

TW_API int tw_node_shutdown(tw *w, tw_node *node) {
    if (const int refusal = enter(w, node); refusal != 0)
        return refusal;
    const int prevented = disarm(wheel_in(w), node);
    node->state = TW_SHUT;
    return leave(w, prevented);
}

TW_API int tw_wait(tw *w, const tw_node *node) {
    if (!usable(w) || !usable(node))
        return -einval;
    if constexpr (has_threads) {
        locked_wheel &wheel = wheel_in(w);
        lock(wheel);
        if (wheel.running == node && wheel.advancer != tw_port_self())
            sleep_until_one_more(wheel, wheel.returned);
        while (is_handed_out(wheel, node))
            sleep_until_one_more(wheel, wheel.handed_out);
        unlock(wheel);
    }
    return 0;
}

TW_API int tw_clear(tw *w, tw_callback *each, void *arg) {
    if (const int refusal = enter(w); refusal != 0)
        return refusal;
    locked_wheel &wheel = wheel_in(w);
    {
        own_clearing mine(wheel);
#if TW_RUNTIME
        finish_shift(wheel);  // what another thread has begun
#endif
        wheel.slots.empty_into(wheel.leaving);
        while (!is_empty(wheel.leaving)) {
            tw_node &node = node_of(behind(wheel.leaving));
            TW_ASSERT_OF(node, is_pending(&node));
            disarm(wheel, &node);
            mine.begin_at(node);
            unlock(wheel);
            if (each != nullptr)
                each(&node, arg);
            lock(wheel);
            mine.end_at();
        }
    }
    return leave(w, 0);
}

TW_API int tw_pending(tw *w, const tw_node *node) { return enter_pending(w, node) ? leave(w, 1) : 0; }

TW_API tw_tick tw_expiry(tw *w, const tw_node *node) {
    return enter_pending(w, node) ? leave_with(w, node->expiry) : never;
}

TW_API tw_tick tw_remaining(tw *w, const tw_node *node) {
    return enter_pending(w, node) ? leave_with(w, distance(wheel_in(w).now, node->expiry)) : never;
}

TW_API size_t tw_count(tw *w) {
    if (enter(w) != 0)
        return 0;
    const std::size_t count = wheel_in(w).count;
    unlock(wheel_in(w));
    return count;
}

TW_API tw_tick tw_now(tw *w) { return read(w, &locked_wheel::now); }

TW_API tw_tick tw_next(tw *w) {
    if (enter(w) != 0)
        return never;
    locked_wheel &wheel = wheel_in(w);
    return leave_with(w, wheel.next(lead_of(wheel)));
}

TW_API int tw_first_due(tw *w, uint32_t looks, tw_tick *tick) {
    if (looks == 0 || tick == nullptr)
        return -einval;
    if (const int refusal = enter(w); refusal != 0)
        return refusal;
    locked_wheel &wheel = wheel_in(w);
    bool is_exact = false;
    const tw_tick on = wheel.first_due(looks, &is_exact);
    if (on == never)
        return leave(w, -enoent);
    *tick = wheel.now + on;
    return leave(w, is_exact ? 1 : 0);
}

TW_API tw_tick tw_overruns(tw *w) { return usable(w) ? read(w, &locked_wheel::overruns) : 0; }

TW_API tw_tick tw_due(tw *w) { return read(w, &locked_wheel::due_at); }

TW_API tw_node *tw_running(tw *w) {
    if (enter(w) != 0)
        return nullptr;
    tw_node *const running = wheel_in(w).running;
    unlock(wheel_in(w));
    return running;
}

TW_API int tw_advance(tw *w, tw_tick now, uint32_t budget) {
    if (!is_tick(now) || budget == 0)
        return -einval;
    if (const int refusal = enter(w); refusal != 0)
        return refusal;
    locked_wheel &wheel = wheel_in(w);
    return after(now, wheel.now) && pass_quietly(wheel, now) ? leave(w, 0) : advance(w, now, budget);
}

TW_API int tw_update(tw *w) {
    if (const int refusal = enter(w); refusal != 0)
        return refusal;
    const tick next = wheel_in(w).now + 1;
    if (pass_quietly(wheel_in(w), next))
        return leave(w, 0);
    return is_tick(next) ? advance(w, next, TW_UNBOUNDED) : leave(w, -erange);
}

TW_API int tw_idle(tw *w, uint32_t budget) {
    if (budget == 0)
        return -einval;
    if (const int refusal = enter(w); refusal != 0)
        return refusal;
    work_budget left(wheel_in(w), budget);
    return leave(w, look_ahead(wheel_in(w), left, shape::round) ? 0 : 1);
}

TW_API int tw_interrupt(tw *w) {
    if (!usable(w))
        return -einval;
    __atomic_store_n(&wheel_in(w).interrupted, true, __ATOMIC_RELEASE);
    return 0;
}

// While callbacks run, all else is as it is between two moves.
TW_API int tw_abandon(tw *w) {
    if (const int refusal = enter(w); refusal != 0)
        return refusal;
    locked_wheel &wheel = wheel_in(w);
    if (!wheel.advancing || wheel.advancer != tw_port_self())
        return leave(w, 0);
    end_callback(wheel);
    wheel.advancing = false;
    return leave(w, 1);
}

TW_API int tw_fork(tw *w, tw_fork_moment moment) {
    if (!usable(w) || static_cast<unsigned>(moment) > TW_FORK_CHILD)
        return -einval;
    if constexpr (has_threads) {
        locked_wheel &wheel = wheel_in(w);
        if (moment == TW_FORK_PREPARE)
            lock(wheel);
        else if (moment == TW_FORK_PARENT)
            unlock(wheel);
        else
            be_alone(wheel);
    }
    return 0;
}

TW_API int tw_check(tw *w, tw_report *report, void *arg) {
    const int refusal = enter(w);
    return refusal != 0 ? refusal : leave(w, checker<shape>(wheel_in(w), w, report, arg).run());
}

TW_API int tw_version(void) { return TW_VERSION; }
