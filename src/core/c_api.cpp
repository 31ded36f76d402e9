// The edge of the core: every public function validates, takes the lock, and hands
// on to the wheel, which may then rely on what it gets.
#include <type_traits>

#include <tickwheel/port.h>
#include <tickwheel/tw.h>

#include "check.hpp"
#include "errors.hpp"
#include "stored.hpp"

#if defined(__GNUC__)
#define TW_API extern "C" __attribute__((visibility("default")))
#else
#define TW_API extern "C"
#endif

namespace {

using namespace tickwheel::core;

// P8: the most node moves, and slots opened or emptied, while the lock is held once.
// For each slot opened at most wheel::few further nodes are looked at.
constexpr unsigned moves_per_hold = 64;

// The share of look-ahead moves for one tick. Small parts hold few nodes.
constexpr unsigned ahead_per_advance = sizeof(void *) == 8 ? 256 : 16;

// Look-ahead begins late, for a node that is cancelled before need never be moved:
// so many ticks before a block opens that, at a quarter of that share each tick, all
// nodes there are could come down.
tick lead_of(const stored &wheel) { return wheel.count / (ahead_per_advance / 4) + 1; }

// A tw_advance over several ticks gets a share for each, up to this many; but a
// driver that comes when tw_next asked it to has missed nothing, and gets one.
constexpr tick most_shares = 64;

// What a tw_advance spends on look-ahead, and on blocks that open how soon. If no
// time has passed there is time to spare, and any block will do.
struct share {
    std::uint64_t moves;
    tick horizon;
};

share share_of(const stored &wheel, tick elapsed) {
    if (elapsed == 0)
        return {ahead_per_advance, never};
    const tick late = wheel.now > wheel.asked_for ? wheel.now - wheel.asked_for : 0;
    return {ahead_per_advance * smaller(smaller(elapsed, late + 1), most_shares),
            smaller(elapsed, shape::span(shape::top)) * lead_of(wheel)};
}

bool usable(tw *w) { return w != nullptr && stored_in(w).self == w; }
bool usable(const tw_node *node) { return node != nullptr && node->fn != nullptr; }

void lock(stored &wheel) {
    if (wheel.is == kind::locked)
        tw_port_lock(&wheel.lock);
}

void unlock(stored &wheel) {
    if (wheel.is == kind::locked)
        tw_port_unlock(&wheel.lock);
}

// Holds a wheel's lock for a scope; `release` and `take` open a gap in it.
class holder {
  public:
    explicit holder(stored &w) : w_(w) { take(); }
    ~holder() { release(); }
    holder(const holder &) = delete;
    holder &operator=(const holder &) = delete;

    void take() { lock(w_); }
    void release() { unlock(w_); }
    void let_others_in() {
        release();
        take();
    }

  private:
    stored &w_;
};

// A field of a wheel, or `none` for a bad one.
template <class T, class Part> T read(tw *w, T Part::*field, std::type_identity_t<T> none) {
    if (!usable(w))
        return none;
    stored &wheel = stored_in(w);
    const holder hold(wheel);
    return wheel.*field;
}

bool pending_elsewhere(const tw *w, const tw_node *node) {
    return node->state == TW_PENDING && node->wheel != w;
}
bool pending_here(const tw *w, const tw_node *node) { return node->state == TW_PENDING && node->wheel == w; }

int refusal_to_arm(const tw *w, const tw_node *node) {
    if (pending_elsewhere(w, node))
        return -ebusy;
    return node->state == TW_SHUT ? -eperm : 0;
}

int refusal_to_move(const tw *w, const tw_node *node) {
    if (node->state != TW_PENDING)
        return -enoent;
    return pending_elsewhere(w, node) ? -ebusy : 0;
}

// How a node is to fire from its first tick on.
struct schedule {
    tick period = 0;
    std::uint8_t missed = TW_BURST;
    std::uint16_t fires = 0;
};

int arm(tw *w, tw_node *node, tick first, const schedule &how) {
    stored &wheel = stored_in(w);
    const bool was_pending = node->state == TW_PENDING;
    TW_ASSERT(node->state != TW_SHUT && (!was_pending || node->wheel == w));
    if (was_pending)
        unlink(node->link);
    else
        ++wheel.count;
    node->expiry = first;
    node->period = how.period;
    node->wheel = w;
    node->fires_left = how.fires;
    __atomic_store_n(&node->missed, how.missed, __ATOMIC_RELAXED);  // its callback may read it meanwhile
    node->state = TW_PENDING;
    wheel.place(*node);
    return was_pending ? 1 : 0;
}

int disarm(stored &wheel, tw_node *node) {
    if (node->state != TW_PENDING)
        return 0;
    TW_ASSERT(&stored_in(node->wheel) == &wheel);
    unlink(node->link);
    node->state = TW_IDLE;
    --wheel.count;
    return 1;
}

// P7: no lock held, and nothing of the node is touched once its callback began.
void fire(stored &wheel, holder &hold) {
    const stored::firing next = wheel.take_due();
    tw_callback *const fn = next.node.fn;
    void *const arg = next.node.arg;
    wheel.running = &next.node;
    wheel.due_at = next.due;
    wheel.overruns = next.overruns;
    hold.release();
    fn(&next.node, arg);
    hold.take();
    wheel.running = nullptr;
    wheel.due_at = never;
    wheel.overruns = 0;
    __atomic_store_n(&wheel.returned, wheel.returned + 1, __ATOMIC_RELAXED);  // the kernel reads it
    if (wheel.awaiting != 0) {
        hold.release();
        tw_port_wake_all(&wheel.returned);
        hold.take();
    }
}

// Sleeps until a callback has returned. The count is read under the lock that guards
// it, and compared again by the kernel: a return in between is not missed.
void sleep_until_one_returned(stored &wheel, holder &hold) {
    const std::uint32_t seen = wheel.returned;
    ++wheel.awaiting;
    do {
        hold.release();
        tw_port_wait(&wheel.returned, seen, INT64_MAX);
        hold.take();
    } while (wheel.returned == seen);
    --wheel.awaiting;
}

// Whether tw_interrupt was called since this was last asked.
bool take_interruption(stored &wheel) {
    if (!__atomic_load_n(&wheel.interrupted, __ATOMIC_ACQUIRE))
        return false;
    __atomic_store_n(&wheel.interrupted, false, __ATOMIC_RELAXED);
    return true;
}

unsigned portion(std::uint64_t budget) {
    return budget < moves_per_hold ? static_cast<unsigned>(budget) : moves_per_hold;
}

std::uint64_t widen(std::uint32_t budget) { return budget == TW_UNBOUNDED ? ~std::uint64_t{0} : budget; }

// Look-ahead in portions; true when none is left.
bool spend_on_look_ahead(stored &wheel, holder &hold, std::uint64_t budget, tick horizon) {
    for (;;) {
        const unsigned granted = portion(budget);
        unsigned moves = granted;
        if (wheel.look_ahead(moves, horizon))
            return true;
        budget -= granted - moves;
        if (budget == 0)
            return false;
        hold.let_others_in();
    }
}

// Fires and moves until time has caught up with the wheel's now; false if the budget
// ran out first, or it was interrupted. What is left of it stays in `budget`.
bool run_due(stored &wheel, holder &hold, std::uint64_t &budget) {
    for (;;) {
        const unsigned granted = portion(budget);
        unsigned moves = granted;
        const stored::turn turn = wheel.step(moves);
        budget -= granted - moves;
        if (turn == stored::turn::done)
            return true;
        if (budget == 0)
            return false;
        if (turn == stored::turn::again) {
            hold.let_others_in();
            continue;
        }
        if (take_interruption(wheel))
            return false;
        --budget;
        fire(wheel, hold);
    }
}

int advance(stored &wheel, holder &hold, tick now, std::uint32_t budget) {
    const tick elapsed = now - wheel.now;
    wheel.now = now;
    wheel.advancing = true;
    wheel.advancer = tw_port_self();
    std::uint64_t left = widen(budget);
    const bool all_done = run_due(wheel, hold, left);
    const share ahead = share_of(wheel, elapsed);
    if (all_done)
        spend_on_look_ahead(wheel, hold, left < ahead.moves ? left : ahead.moves, ahead.horizon);
    wheel.advancing = false;
    return all_done ? 0 : 1;
}

// P13: of all threads only the caller's is left. It holds the lock; the word also
// counts waiters that are gone.
void be_alone(stored &wheel) {
    wheel.awaiting = 0;
    wheel.clearing = 0;
    if (wheel.advancing && wheel.advancer != tw_port_self()) {
        wheel.advancing = false;
        wheel.running = nullptr;
        wheel.due_at = never;
        wheel.overruns = 0;
    }
    wheel.interrupted = wheel.advancing;
    tw_port_lock_init(&wheel.lock);
}

// P3: of the nodes of one tick, those that are due already are the oldest, then come
// those that are further down. What moves while the lock is free leaves as well.
void empty_all_slots(stored &wheel, holder &hold) {
    ++wheel.clearing;
    append_all(wheel.leaving, wheel.due);
    for (unsigned slot = 0; slot < shape::slots; ++slot) {
        wheel.slots.empty_into(wheel.leaving, slot);
        if (slot % moves_per_hold == moves_per_hold - 1)
            hold.let_others_in();
    }
    --wheel.clearing;
}

}  // namespace

TW_API int tw_init(tw *w, tw_tick now, unsigned flags) {
    if (w == nullptr || now == never || (flags & ~unsigned{TW_UNLOCKED}) != 0)
        return -einval;
    stored *wheel =
        new (w->storage.bytes) stored(w, now, (flags & TW_UNLOCKED) != 0 ? kind::unlocked : kind::locked);
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

TW_API int tw_arm_after(tw *w, tw_node *node, tw_tick delay) {
    if (!usable(w) || !usable(node) || delay == 0)
        return -einval;
    stored &wheel = stored_in(w);
    const holder hold(wheel);
    if (const int refusal = refusal_to_arm(w, node); refusal != 0)
        return refusal;
    if (delay > last_tick - wheel.now)
        return -erange;
    return arm(w, node, wheel.now + delay, {});
}

TW_API int tw_arm_at(tw *w, tw_node *node, tw_tick tick) {
    if (!usable(w) || !usable(node))
        return -einval;
    if (tick == never)
        return -erange;
    const holder hold(stored_in(w));
    if (const int refusal = refusal_to_arm(w, node); refusal != 0)
        return refusal;
    return arm(w, node, tick, {});
}

TW_API int tw_arm_within(tw *w, tw_node *node, tw_tick tick, tw_tick slack) {
    if (!usable(w) || !usable(node))
        return -einval;
    if (tick == never || slack > last_tick - tick)
        return -erange;
    stored &wheel = stored_in(w);
    const holder hold(wheel);
    if (const int refusal = refusal_to_arm(w, node); refusal != 0)
        return refusal;
    return arm(w, node, wheel.choose(tick, tick + slack), {});
}

TW_API tw_tick tw_choose(tw *w, tw_tick tick, tw_tick slack) {
    if (!usable(w) || tick == never || slack > last_tick - tick)
        return never;
    stored &wheel = stored_in(w);
    const holder hold(wheel);
    return wheel.choose(tick, tick + slack);
}

TW_API int tw_arm_every(tw *w, tw_node *node, tw_tick first, tw_tick period, tw_missed missed,
                        uint32_t fires) {
    if (!usable(w) || !usable(node) || period == 0 || fires > TW_FIRES_MAX)
        return -einval;
    if (missed != TW_BURST && missed != TW_SKIP && missed != TW_DELAY)
        return -einval;
    if (first == never)
        return -erange;
    const holder hold(stored_in(w));
    if (const int refusal = refusal_to_arm(w, node); refusal != 0)
        return refusal;
    return arm(w, node, first,
               {period, static_cast<std::uint8_t>(missed), static_cast<std::uint16_t>(fires)});
}

TW_API int tw_postpone(tw *w, tw_node *node, tw_tick tick) {
    if (!usable(w) || !usable(node))
        return -einval;
    if (tick == never)
        return -erange;
    const holder hold(stored_in(w));
    if (const int refusal = refusal_to_move(w, node); refusal != 0)
        return refusal;
    if (tick < node->expiry)
        return -einval;
    node->expiry = tick;
    return 0;
}

TW_API int tw_move(tw *w, tw_node *node, tw_tick tick) {
    if (!usable(w) || !usable(node))
        return -einval;
    if (tick == never)
        return -erange;
    stored &wheel = stored_in(w);
    const holder hold(wheel);
    if (const int refusal = refusal_to_move(w, node); refusal != 0)
        return refusal;
    unlink(node->link);
    node->expiry = tick;
    wheel.place(*node);
    return 0;
}

TW_API int tw_cancel(tw *w, tw_node *node) {
    if (!usable(w) || !usable(node))
        return -einval;
    stored &wheel = stored_in(w);
    const holder hold(wheel);
    return pending_elsewhere(w, node) ? -ebusy : disarm(wheel, node);
}

TW_API int tw_node_shutdown(tw *w, tw_node *node) {
    if (!usable(w) || !usable(node))
        return -einval;
    stored &wheel = stored_in(w);
    const holder hold(wheel);
    if (pending_elsewhere(w, node))
        return -ebusy;
    const int prevented = disarm(wheel, node);
    node->state = TW_SHUT;
    return prevented;
}

TW_API int tw_wait(tw *w, const tw_node *node) {
    if (!usable(w) || !usable(node))
        return -einval;
    stored &wheel = stored_in(w);
    holder hold(wheel);
    if (wheel.running == node && wheel.advancer != tw_port_self())
        sleep_until_one_returned(wheel, hold);
    return 0;
}

TW_API int tw_clear(tw *w, tw_callback *each, void *arg) {
    if (!usable(w))
        return -einval;
    stored &wheel = stored_in(w);
    holder hold(wheel);
    empty_all_slots(wheel, hold);
    while (!is_empty(wheel.leaving)) {
        tw_node &node = node_of(*wheel.leaving.next);
        disarm(wheel, &node);
        hold.release();
        if (each != nullptr)
            each(&node, arg);
        hold.take();
    }
    return 0;
}

TW_API int tw_pending(tw *w, const tw_node *node) {
    if (!usable(w) || !usable(node))
        return 0;
    const holder hold(stored_in(w));
    return pending_here(w, node) ? 1 : 0;
}

TW_API tw_tick tw_expiry(tw *w, const tw_node *node) {
    if (!usable(w) || !usable(node))
        return never;
    const holder hold(stored_in(w));
    return pending_here(w, node) ? node->expiry : never;
}

TW_API tw_tick tw_remaining(tw *w, const tw_node *node) {
    if (!usable(w) || !usable(node))
        return never;
    stored &wheel = stored_in(w);
    const holder hold(wheel);
    if (!pending_here(w, node))
        return never;
    return node->expiry > wheel.now ? node->expiry - wheel.now : 0;
}

TW_API size_t tw_count(tw *w) { return read(w, &stored::count, 0); }

TW_API tw_tick tw_now(tw *w) { return read(w, &stored::now, never); }

TW_API tw_tick tw_next(tw *w) {
    if (!usable(w))
        return never;
    stored &wheel = stored_in(w);
    const holder hold(wheel);
    return wheel.asked_for = wheel.next(lead_of(wheel));
}

TW_API tw_tick tw_overruns(tw *w) { return read(w, &stored::overruns, 0); }

TW_API tw_tick tw_due(tw *w) { return read(w, &stored::due_at, never); }

TW_API tw_node *tw_running(tw *w) { return read(w, &stored::running, nullptr); }

TW_API int tw_advance(tw *w, tw_tick now, uint32_t budget) {
    if (!usable(w) || now == never || budget == 0)
        return -einval;
    stored &wheel = stored_in(w);
    holder hold(wheel);
    if (wheel.advancing)
        return -ebusy;
    if (now < wheel.now)
        return -einval;
    return advance(wheel, hold, now, budget);
}

TW_API int tw_update(tw *w) {
    if (!usable(w))
        return -einval;
    stored &wheel = stored_in(w);
    holder hold(wheel);
    if (wheel.advancing)
        return -ebusy;
    if (wheel.now == last_tick)
        return -erange;
    return advance(wheel, hold, wheel.now + 1, TW_UNBOUNDED);
}

TW_API int tw_idle(tw *w, uint32_t budget) {
    if (!usable(w) || budget == 0)
        return -einval;
    stored &wheel = stored_in(w);
    holder hold(wheel);
    return spend_on_look_ahead(wheel, hold, widen(budget), never) ? 0 : 1;
}

TW_API int tw_interrupt(tw *w) {
    if (!usable(w))
        return -einval;
    __atomic_store_n(&stored_in(w).interrupted, true, __ATOMIC_RELEASE);
    return 0;
}

TW_API int tw_fork(tw *w, tw_fork_moment moment) {
    if (!usable(w) || moment < TW_FORK_PREPARE || moment > TW_FORK_CHILD)
        return -einval;
    stored &wheel = stored_in(w);
    if (moment == TW_FORK_PREPARE)
        lock(wheel);
    else if (moment == TW_FORK_PARENT)
        unlock(wheel);
    else
        be_alone(wheel);
    return 0;
}

TW_API int tw_check(tw *w, tw_report *report, void *arg) {
    if (!usable(w))
        return -einval;
    stored &wheel = stored_in(w);
    const holder hold(wheel);
    return checker<shape>(wheel, w, report, arg).run();
}

TW_API int tw_version(void) { return TW_VERSION; }
