// The functions of tw.h, door.h and records.hpp, for the wheel that the library is built with; see api.hpp,
// door_api.hpp and record_api.hpp.
#include <tickwheel/tw.h>

#include "api.hpp"
#include "door_api.hpp"
#include "record_api.hpp"

#define TW_API extern "C" __attribute__((visibility("default")))

namespace {

using namespace tickwheel::core;

using library = api<library_wheel>;

// tw.h computes the size of a wheel without its definition, and may reserve a little too much.
static_assert(sizeof(tw) - sizeof(library_wheel) <=
              (TW_TREE ? sizeof(std::uint64_t) : 8 * sizeof(std::size_t)));
#if TW_TREE
static_assert(offsetof(wheel_sharing, how) == sizeof(void *), "TW_WHEEL in tw.h is not a fresh wheel");
#else
static_assert(TW_SLOTS == library_shape::slots);
static_assert(sizeof(tw) <= (sizeof(void *) == 8 ? 22200 : 11500));
static_assert(sizeof(tw_node) <=
              (sizeof(void *) == 8 ? 64 : 40) + (sizeof(void *) == 8 ? 8 : 16) * TW_RUNTIME);
#endif

}  // namespace

TW_API int tw_init(tw *w, tw_tick now, unsigned flags) { return library::init(w, now, flags); }

TW_API int tw_node_init(tw_node *node, tw_callback *fn, void *arg) {
    TW_NOTE_CALLER;
    return init(node, fn, arg);
}

TW_API int tw_arm_after(tw *w, tw_node *node, tw_tick delay) {
    TW_NOTE_CALLER;
    return library::arm_after(w, node, delay);
}

TW_API int tw_arm_at(tw *w, tw_node *node, tw_tick tick) {
    TW_NOTE_CALLER;
    return library::arm_at(w, node, tick);
}

#if !TW_SMALL
TW_API int tw_arm_within(tw *w, tw_node *node, tw_tick tick, tw_tick slack) {
    TW_NOTE_CALLER;
    return library::arm_within(w, node, tick, slack);
}
#endif

TW_API int tw_arm_every(tw *w, tw_node *node, tw_tick first, tw_tick period, tw_missed missed,
                        uint32_t fires) {
    TW_NOTE_CALLER;
    return library::arm_every(w, node, first, period, missed, fires);
}

TW_API int tw_postpone(tw *w, tw_node *node, tw_tick tick) {
    TW_NOTE_CALLER;
    return library::postpone(w, node, tick);
}

TW_API int tw_move(tw *w, tw_node *node, tw_tick tick) {
    TW_NOTE_CALLER;
    return library::move(w, node, tick);
}

TW_API int tw_cancel(tw *w, tw_node *node) {
    TW_NOTE_CALLER;
    return library::cancel(w, node);
}

TW_API int tw_retire(tw *w, tw_node *node) {
    TW_NOTE_CALLER;
    return library::retire(w, node);
}

TW_API int tw_wait(tw *w, const tw_node *node) { return library::wait(w, node); }

#if !TW_SMALL
TW_API int tw_cancel_all(tw *w, tw_callback *each, void *arg) { return library::cancel_all(w, each, arg); }
#endif

#if TW_RUNTIME
TW_API tw_node *tw_walk_next(tw *w, tw_walk *walk) { return library::walk_next(w, walk); }
TW_API int tw_walk_end(tw *w, tw_walk *walk) { return library::walk_end(w, walk); }
TW_API int tw_set_back(tw *w, tw_tick now) { return library::set_back(w, now); }
#endif

TW_API int tw_pending(tw *w, const tw_node *node) {
    TW_NOTE_CALLER;
    return library::pending(w, node);
}

TW_API tw_tick tw_expiry(tw *w, const tw_node *node) {
    TW_NOTE_CALLER;
    return library::expiry(w, node);
}

#if !TW_SMALL && TW_TICK_BITS != 32
TW_API tw *tw_wheel_of(const tw_node *node) { return node == nullptr ? nullptr : wheel_of(*node); }
#endif

TW_API size_t tw_count(tw *w) { return library::count(w); }
TW_API tw_tick tw_now(tw *w) { return library::now(w); }
TW_API tw_tick tw_next(tw *w) { return library::next(w); }
#if TW_RUNTIME || TW_TREE
TW_API tw_node *tw_first(tw *w, uint32_t looks) { return library::first(w, looks); }
#endif
TW_API tw_tick tw_due(tw *w) { return library::due(w); }
TW_API tw_node *tw_running(tw *w) { return library::running(w); }
#if !TW_SMALL
TW_API tw_tick tw_overruns(tw *w) { return library::overruns(w); }
#endif

TW_API int tw_advance(tw *w, tw_tick now, uint32_t budget) { return library::advance(w, now, budget); }
#if !TW_SMALL
TW_API int tw_take(tw *w, tw_tick now, tw_fire *fire) { return library::take(w, now, fire); }
#endif
TW_API int tw_update(tw *w) { return library::update(w); }
TW_API int tw_idle(tw *w, uint32_t budget) { return library::idle(w, budget); }
TW_API int tw_check(tw *w, tw_report *report, void *arg) { return library::check(w, report, arg); }

TW_API size_t tw_node_size(void) { return sizeof(tw_node); }
TW_API size_t tw_wheel_size(void) { return sizeof(tw); }

TW_API int tw_version(void) { return TW_VERSION; }

#if TW_RUNTIME
// --- door.h ---

using library_door = tickwheel::core::door_api<library_wheel>;

int tw_core_arm_at(tw *w, tw_node *node, tw_tick due, uint64_t moment) {
    return library_door::arm_at(w, node, due, moment);
}
int tw_core_arm_every(tw *w, tw_node *node, tw_tick first, tw_tick period, tw_missed missed, uint32_t fires,
                      uint64_t moment) {
    return library_door::arm_every(w, node, first, {period, missed, fires}, moment);
}
int tw_core_arm_with_delay(tw *w, tw_node *node, tw_tick due, tw_tick delay, uint64_t moment) {
    return library_door::arm_with_delay(w, node, due, delay, moment);
}
int tw_core_move(tw *w, tw_node *node, tw_tick due, uint64_t moment) {
    return library_door::move(w, node, due, moment);
}
int tw_core_again(tw *w, tw_node *node, tw_core_due *due_of, void *arg, uint64_t moment) {
    return library_door::again(w, node, due_of, arg, moment);
}
int tw_core_arm_grid(tw *w, tw_node *node, const tw_core_grid *grid) {
    return library_door::arm_grid(w, node, grid);
}
int tw_core_label(tw_node *node, unsigned label) { return give_label(node, label); }
tw_tick tw_core_choose(tw *w, tw_tick tick, tw_tick slack) { return library_door::choose(w, tick, slack); }
uint64_t tw_core_cancelled(tw *w, unsigned label) { return library_door::cancelled(w, label); }
void tw_core_join_lanes(tw *w, tw_core_lanes *lanes) { library_door::join_lanes(w, lanes); }
int tw_core_is_busy(tw *w) { return __atomic_load_n(&state_in(w).lock, __ATOMIC_RELAXED) != 0; }
uint32_t tw_core_placed(tw *w) { return __atomic_load_n(&state_in(w).placed, __ATOMIC_RELAXED); }
tw_tick tw_core_publish_next(tw *w, tw_tick *published) { return library_door::publish_next(w, published); }
int tw_core_advance_part(tw *w, tw_tick now, const tw_core_place *last, const uint64_t *touched,
                         uint32_t *budget, tw_core_part *part) {
    return library_door::advance_part(w, now, *last, *touched, *budget, *part);
}
void tw_core_set_caller(tw *w, tw_core_caller *caller, void *arg) {
    library_door::set_caller(w, caller, arg);
}
void tw_core_interrupt(tw *w) { library_door::interrupt(w); }
void tw_core_abandon(tw *w) { library_door::abandon(w); }
int tw_core_is_in_callback(tw *w) { return state_in(w).is_in_callback() ? 1 : 0; }
void tw_core_forget_interruption(tw *w) { forget_interruption(state_in(w)); }
void tw_core_share_lock(tw *w, tw *with) { share_lock(w, with); }
int tw_core_walk_some(tw *w, tw_walk *walk, tw_node **node) {
    return library::walk_some(w, *walk, *node) ? 1 : 0;
}
void tw_core_fork(tw *w, tw_core_fork_moment moment) { library_door::fork(w, moment); }
void tw_core_shift(tw *w, tw_tick by) { library_door::shift(w, by); }

// --- records.hpp ---

namespace tickwheel::core {

using library_records = record_api<library_wheel>;

std::size_t size_of_records() { return library_records::size(); }
std::size_t chunks_for(std::size_t records, unsigned wheels) {
    return library_records::chunks_for(records, wheels);
}
void begin_records(tw *w, void *zeroed, chunk_pool &chunks, tick offset, bool is_second,
                   record_caller *caller, void *arg) {
    library_records::begin(w, zeroed, chunks, offset, is_second, caller, arg);
}
wheel_lock lock_of(tw *w) { return library_records::lock_of(w); }
void arm_record(tw *w, timing &record, tick due, std::uint64_t moment) {
    library_records::arm(w, record, due, moment);
}
void move_record(tw *w, timing &record, tick due, std::uint64_t moment) {
    library_records::move(w, record, due, moment);
}
void disarm_record(tw *w, timing &record) { library_records::disarm(w, record); }
tick choose_tick(tw *w, tick first, tick last) { return library_records::choose_tick(w, first, last); }
void count_cancelled(tw *w, unsigned label, std::uint64_t fires) {
    library_records::count_cancelled(w, label, fires);
}

}  // namespace tickwheel::core
#endif

// The plain names of functions that have longer link names; see tw.h. The first two are noexcept because
// compilers deduce that for the originals; callbacks may throw through the others.
#ifdef TW_LAYOUT_NAME
#define TW_PLAIN_NAME(function) TW_LINKED_AS(function) __attribute__((alias(function TW_LAYOUT_NAME)))
TW_API int tw_init_plain(tw *w, tw_tick now, unsigned flags) noexcept TW_PLAIN_NAME("tw_init");
TW_API int tw_node_init_plain(tw_node *node, tw_callback *fn, void *arg) noexcept
    TW_PLAIN_NAME("tw_node_init");
TW_API int tw_advance_plain(tw *w, tw_tick now, uint32_t budget) TW_PLAIN_NAME("tw_advance");
TW_API int tw_update_plain(tw *w) TW_PLAIN_NAME("tw_update");
#endif
