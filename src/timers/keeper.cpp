// See keeper.hpp.
#include "keeper.hpp"

#include <cerrno>
#include <cstdlib>

#include "core/bounds.hpp"
#include "core/record_checker.hpp"
#include "record_life.hpp"
#include "runtime/turn.hpp"
#include "runtime/wall.hpp"

template class tickwheel::core::record_wheel<tickwheel::runtime::record_shape,
                                             tickwheel::runtime::records_of_line>;

namespace tickwheel::runtime {

namespace {

record_keeper &keeper_in(keeper &base) { return static_cast<record_keeper &>(base); }

// --- advancing -------------------------------------------------------------------------

// The firing thread has to leave, or a component of the runtime has to be settled before more may fire.
bool must_stop(const tw_runtime &rt) {
    return must_leave(rt) || rt.unsettled.load(std::memory_order_relaxed) != nullptr;
}

// Releases the lock every now and then, for others to get in.
class hold_bound {
  public:
    explicit hold_bound(keeper_lock &lock) : lock_(lock) {}

    // RELEASES AND REACQUIRES: keeper lock, every steps_per_hold steps
    void spend(unsigned steps) {
        spent_ += steps;
        if (spent_ < core::steps_per_hold)
            return;
        lock_.unlock();
        lock_.lock();
        spent_ = 0;
    }
    void renew() { spent_ = 0; }

  private:
    keeper_lock &lock_;
    unsigned spent_ = 0;
};

// Look-ahead after all is done: see bounds.hpp. A caller who comes again at the same tick has time to spare,
// and the longest lead. RELEASES AND REACQUIRES: keeper lock
void take_share(record_wheel &wheel, std::uint32_t budget, hold_bound &hold) {
    const tick ticks = core::smaller(wheel.take_elapsed(), core::most_shares);
    const tick shares = core::shares_of(ticks, wheel.ticks_after_asked());
    const tick lead = wheel.near_lead() * (ticks == 0 ? core::most_shares : ticks);
    tick left = core::smaller<tick>(budget, core::ahead_per_tick * shares);
    while (left != 0) {
        const unsigned moved = wheel.lower_some(lead);
        if (moved == 0) {
            wheel.set_quiet(lead);
            return;
        }
        left -= core::smaller<tick>(left, moved);
        hold.spend(moved);
    }
}

bool advance(keeper &base, timeline &line, tick present, tick limit, tick *next, std::uint32_t *budget) {
    record_keeper &it = keeper_in(base);
    record_wheel &wheel = wheel_of(it, line.can_be_set);
    keeper_lock lock(it);
    *next = never;
    if (wheel.pass_quietly(present))
        return true;
    wheel.begin_advance(present);
    hold_bound hold(lock);
    inside_record frame;
    current_run run(*it.rt);
    for (; *budget != 0; --*budget) {
        // Also before this tick's late timers are put in order: nodes fire first, and must not wait for that
        // (P2).
        const auto nodes_may_be_due = [&] {
            return wheel.due_tick() >= limit ||
                   (limit == never && line.has_nodes.load(std::memory_order_relaxed));
        };
        if (wheel.has_late_entries_here() && nodes_may_be_due()) {
            *next = wheel.due_tick();
            return true;
        }
        const auto result = wheel.step();
        if (result != record_wheel::step_result::due)
            it.rt->meter.pause();
        if (result == record_wheel::step_result::done) {
            wheel.skip_if_empty();
            take_share(wheel, *budget, hold);
            return true;
        }
        if (result == record_wheel::step_result::moved) {
            hold.spend(1);
            continue;
        }
        if (nodes_may_be_due()) {
            *next = wheel.due_tick();
            return true;
        }
        fire_next(it, wheel, frame, run, lock);
        if (must_stop(*it.rt))
            return false;
        hold.renew();
    }
    return false;
}

// --- hooks ------------------------------------------------------------------------------

// What other threads do is not there any more; nor is the fire of a callback that has not forked. One that
// has forked finds the mark when it returns.
void begin_in_child(keeper &base) {
    record_keeper &it = keeper_in(base);
    tw_port_lock_init(&it.lock);
    it.waiting = 0;
    it.fired = nullptr;
}

tick next(keeper &base, timeline &line) {
    record_wheel &wheel = wheel_of(keeper_in(base), line.can_be_set);
    return wheel.next(wheel.near_lead());
}

tick now(keeper &base, timeline &line) { return wheel_of(keeper_in(base), line.can_be_set).now(); }

void abandon(keeper &base) {
    keeper_lock lock(keeper_in(base));
    abandon_fire(keeper_in(base), lock);
}

// While the runtime is being freed nothing is pending any more, though records wait to be dropped.
std::size_t count(keeper &base) {
    const record_keeper &it = keeper_in(base);
    if (it.rt->is_freed != 0)
        return 0;
    return it.steady.armed() + (it.wall != nullptr ? it.wall->armed() : 0);
}

int check(keeper &base, tw_report *report, void *arg) {
    record_keeper &it = keeper_in(base);
    int broken = core::record_checker<record_wheel>(it.steady, report, arg).run();
    if (it.wall != nullptr)
        broken += core::record_checker<record_wheel>(*it.wall, report, arg).run();
    return broken;
}

void destroy(keeper &base) {
    record_keeper &it = keeper_in(base);
    it.memory.free_all();
    std::free(it.wall);
    std::free(&it);
}

constexpr keeper_hooks hooks = {
    .lock = [](keeper &base) { lock(keeper_in(base)); },
    .unlock = [](keeper &base) { unlock(keeper_in(base)); },
    .begin_in_child = begin_in_child,
    .next = next,
    .now = now,
    .advance = advance,
    .abandon = abandon,
    .count = count,
    .check = check,
    .cancelled = [](keeper &base, unsigned label) { return keeper_in(base).cancelled[label]; },
    .destroy = destroy,
};

// --- making -----------------------------------------------------------------------------

record_keeper *make(tw_runtime &rt) {
    void *const memory = std::calloc(1, sizeof(record_keeper));
    void *const wall = has_wall(rt) ? std::calloc(1, sizeof(record_wheel)) : nullptr;
    if (memory == nullptr || (has_wall(rt) && wall == nullptr)) {
        std::free(memory);
        std::free(wall);
        return nullptr;
    }
    tw_port_hide(memory, sizeof(record_keeper));
    auto *const it = static_cast<record_keeper *>(memory);
    it->hooks = &hooks;
    it->rt = &rt;
    it->is_observed = tw_port_is_observed() != 0;
    tw_port_lock_init(&it->lock);
    it->steady.init({&rt.steady}, it->chunks, rt.steady.tick_at(rt.steady.clock.read()));
    if (wall != nullptr) {
        const wall_hold hold(rt);
        it->wall = static_cast<record_wheel *>(wall);
        it->wall->init({rt.absolute}, it->chunks, rt.absolute->told,
                       true);  // as the wheel of nodes: earlier readings still count (P1)
    }
    return it;
}

// Two sets may be the first at the same time: only one keeper is kept.
void publish(tw_runtime &rt, record_keeper &made) {
    keeper *none = nullptr;
    const mutex_hold hold(&rt.components_mutex);
    if (!rt.keeper.compare_exchange_strong(none, &made))
        destroy(made);
}

}  // namespace

int open_keeper(tw_runtime &rt, record_keeper *&found) {
    if (keeper_of(rt) == nullptr) {
        record_keeper *const made = make(rt);
        if (made == nullptr)
            return -ENOMEM;
        publish(rt, *made);
        if (rt.driven !=
            driven::by_none)  // its thread may be going to sleep without having asked this keeper
            wake_driver(rt);  // see `timeline`
    }
    found = &keeper_in(*keeper_of(rt));
    return 0;
}

std::size_t chunks_for(const record_keeper &it, std::size_t cells) {
    return record_wheel::chunks_for(cells, it.wall != nullptr ? 2 : 1);
}

void add_chunks(record_keeper &it, growth &with) {
    it.chunks.add(with.chunks->begin, with.chunk_count);
    it.chunk_count += with.chunk_count;
    it.memory.add(with.chunks);
}

}  // namespace tickwheel::runtime
