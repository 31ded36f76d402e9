// A shape, and the functions of tw.h, door.h and records.hpp for wheels of that shape.
#pragma once

#include "core/api.hpp"
#if TW_RUNTIME
#include "core/door_api.hpp"
#include "core/record_api.hpp"
#endif

#include "shapes.h"

// F(result, name, parameters, arguments) for each function of tw.h that takes a wheel, except for
// tw_arm_every, whose enumerator must be passed by reference.
// clang-format off
#if TW_RUNTIME
#define FUNCTIONS_WITH_RUNTIME(F) \
    F(tw_node *, first, (tw *w, uint32_t looks), (w, looks)) \
    F(tw_node *, walk_next, (tw *w, tw_walk *walk), (w, walk)) \
    F(int, walk_end, (tw *w, tw_walk *walk), (w, walk)) \
    F(int, set_back, (tw *w, tw_tick now), (w, now))
#else
#define FUNCTIONS_WITH_RUNTIME(F)
#endif
#define FUNCTIONS_OF_WHEELS(F) \
    FUNCTIONS_WITH_RUNTIME(F) \
    F(int, init, (tw *w, tw_tick now, unsigned flags), (w, now, flags)) \
    F(int, arm_after, (tw *w, tw_node *node, tw_tick delay), (w, node, delay)) \
    F(int, arm_at, (tw *w, tw_node *node, tw_tick tick), (w, node, tick)) \
    F(int, arm_within, (tw *w, tw_node *node, tw_tick tick, tw_tick slack), (w, node, tick, slack)) \
    F(int, postpone, (tw *w, tw_node *node, tw_tick tick), (w, node, tick)) \
    F(int, move, (tw *w, tw_node *node, tw_tick tick), (w, node, tick)) \
    F(int, cancel, (tw *w, tw_node *node), (w, node)) \
    F(int, retire, (tw *w, tw_node *node), (w, node)) \
    F(int, wait, (tw *w, const tw_node *node), (w, node)) \
    F(int, cancel_all, (tw *w, tw_callback *each, void *arg), (w, each, arg)) \
    F(int, pending, (tw *w, const tw_node *node), (w, node)) \
    F(tw_tick, expiry, (tw *w, const tw_node *node), (w, node)) \
    F(size_t, count, (tw *w), (w)) \
    F(tw_tick, now, (tw *w), (w)) \
    F(tw_tick, next, (tw *w), (w)) \
    F(tw_tick, overruns, (tw *w), (w)) \
    F(tw_tick, due, (tw *w), (w)) \
    F(tw_node *, running, (tw *w), (w)) \
    F(int, advance, (tw *w, tw_tick now, uint32_t budget), (w, now, budget)) \
    F(int, take, (tw *w, tw_tick now, tw_fire *fire), (w, now, fire)) \
    F(int, update, (tw *w), (w)) \
    F(int, idle, (tw *w, uint32_t budget), (w, budget)) \
    F(int, check, (tw *w, tw_report *report, void *arg), (w, report, arg))

// The same for the functions of door.h.
#define FUNCTIONS_OF_DOOR(F) \
    F(int, arm_grid, (tw *w, tw_node *node, const tw_core_grid *grid), (w, node, grid)) \
    F(tw_tick, choose, (tw *w, tw_tick tick, tw_tick slack), (w, tick, slack)) \
    F(uint64_t, cancelled, (tw *w, unsigned label), (w, label)) \
    F(void, set_caller, (tw *w, tw_core_caller *caller, void *arg), (w, caller, arg)) \
    F(void, interrupt, (tw *w), (w)) \
    F(void, abandon, (tw *w), (w)) \
    F(void, shift, (tw *w, tw_tick by), (w, by)) \
    F(void, fork, (tw *w, tw_core_fork_moment moment), (w, moment))

// F(result, name in records.hpp, name in record_api, parameters, arguments) for each function of records.hpp.
#define FUNCTIONS_OF_RECORDS(F) \
    F(std::size_t, size_of_records, size, (), ()) \
    F(std::size_t, chunks_for, chunks_for, (std::size_t records, unsigned wheels), (records, wheels)) \
    F(void, begin_records, begin, \
      (tw *w, void *zeroed, chunk_pool &memory, tick offset, bool is_second, record_caller *caller, \
       void *arg), \
      (w, zeroed, memory, offset, is_second, caller, arg)) \
    F(wheel_lock, lock_of, lock_of, (tw *w), (w)) \
    F(void, arm_record, arm, (tw *w, timing &record, tick due, std::uint64_t moment), (w, record, due, moment)) \
    F(void, move_record, move, (tw *w, timing &record, tick due, std::uint64_t moment), (w, record, due, moment)) \
    F(void, disarm_record, disarm, (tw *w, timing &record), (w, record)) \
    F(tick, choose_tick, choose_tick, (tw *w, tick first, tick last), (w, first, last)) \
    F(void, count_cancelled, count_cancelled, (tw *w, unsigned label, std::uint64_t fires), \
      (w, label, fires))

#if TW_RUNTIME
namespace tickwheel::core {

struct door_functions {
#define POINTER(result, name, parameters, arguments) result (*name) parameters;
    FUNCTIONS_OF_DOOR(POINTER)
#undef POINTER
};

template <class Wheel> constexpr door_functions door_functions_of() {
    door_functions made = {};
#define SET_POINTER(result, name, parameters, arguments) made.name = door_api<Wheel>::name;
    FUNCTIONS_OF_DOOR(SET_POINTER)
#undef SET_POINTER
    return made;
}

struct record_functions {
#define POINTER(result, door, name, parameters, arguments) result (*name) parameters;
    FUNCTIONS_OF_RECORDS(POINTER)
#undef POINTER
};

template <class Wheel> constexpr record_functions record_functions_of() {
    record_functions made = {};
#define SET_POINTER(result, door, name, parameters, arguments) made.name = record_api<Wheel>::name;
    FUNCTIONS_OF_RECORDS(SET_POINTER)
#undef SET_POINTER
    return made;
}

}  // namespace tickwheel::core
#endif

struct shape_api : public shape {
#define POINTER(result, name, parameters, arguments) result (*name) parameters;
    FUNCTIONS_OF_WHEELS(POINTER)
#undef POINTER
    int (*arm_every)(tw *, tw_node *, tw_tick, tw_tick, const tw_missed &, uint32_t);
#if TW_RUNTIME
    tickwheel::core::door_functions door;
    tickwheel::core::record_functions records;
#endif
};
// clang-format on

// The shapes of the library that the test links, and then null. The build writes the array; see
// WheelShapes.cmake.
extern const shape_api *const all_shapes[];

template <unsigned Bits, unsigned Levels, bool LookAhead> constexpr shape_api api_of_shape(const char *name) {
    using wheel_of_shape = tickwheel::core::wheel<
        tickwheel::core::slot_engine<tickwheel::core::geometry<Bits, Levels, LookAhead>>>;
    using functions = tickwheel::core::api<wheel_of_shape>;
    shape_api made = {};
    static_cast<struct shape &>(made) = {name, Bits, Levels, LookAhead, false, sizeof(wheel_of_shape)};
#define SET_POINTER(result, name, parameters, arguments) made.name = functions::name;
    FUNCTIONS_OF_WHEELS(SET_POINTER)
#undef SET_POINTER
    made.arm_every = functions::arm_every;
#if TW_RUNTIME
    made.door = tickwheel::core::door_functions_of<wheel_of_shape>();
    made.records = tickwheel::core::record_functions_of<wheel_of_shape>();
#endif
    return made;
}
