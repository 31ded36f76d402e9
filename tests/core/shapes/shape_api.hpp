// A shape, and the functions of tw.h for wheels of that shape.
#pragma once

#include "core/api.hpp"

#include "shapes.h"

// F(result, name, parameters, arguments) for each function that a wheel has a part in; but for the two with
// an enumerator, which is passed on by reference.
// clang-format off
#if TW_RUNTIME
#define FUNCTIONS_FOR_RUNTIMES(F) \
    F(int, arm_grid, (tw *w, tw_node *node, const tw_grid *grid), (w, node, grid)) \
    F(int, postpone_all, (tw *w, tw_tick by), (w, by)) \
    F(int, advance_until, (tw *w, tw_tick now, tw_tick until, uint32_t budget), (w, now, until, budget)) \
    F(uint64_t, cancelled, (tw *w, unsigned label), (w, label)) \
    F(int, set_caller, (tw *w, tw_caller *caller, void *arg), (w, caller, arg)) \
    F(int64_t, each, (tw *w, tw_visitor *visit, void *arg), (w, visit, arg))
#else
#define FUNCTIONS_FOR_RUNTIMES(F)
#endif
#define FUNCTIONS_OF_WHEELS(F) \
    FUNCTIONS_FOR_RUNTIMES(F) \
    F(int, init, (tw *w, tw_tick now, unsigned flags), (w, now, flags)) \
    F(int, arm_after, (tw *w, tw_node *node, tw_tick delay), (w, node, delay)) \
    F(int, arm_at, (tw *w, tw_node *node, tw_tick tick), (w, node, tick)) \
    F(int, arm_within, (tw *w, tw_node *node, tw_tick tick, tw_tick slack), (w, node, tick, slack)) \
    F(tw_tick, choose, (tw *w, tw_tick tick, tw_tick slack), (w, tick, slack)) \
    F(int, postpone, (tw *w, tw_node *node, tw_tick tick), (w, node, tick)) \
    F(int, move, (tw *w, tw_node *node, tw_tick tick), (w, node, tick)) \
    F(int, cancel, (tw *w, tw_node *node), (w, node)) \
    F(int, node_shutdown, (tw *w, tw_node *node), (w, node)) \
    F(int, wait, (tw *w, const tw_node *node), (w, node)) \
    F(int, clear, (tw *w, tw_callback *each, void *arg), (w, each, arg)) \
    F(int, pending, (tw *w, const tw_node *node), (w, node)) \
    F(tw_tick, expiry, (tw *w, const tw_node *node), (w, node)) \
    F(tw_tick, remaining, (tw *w, const tw_node *node), (w, node)) \
    F(size_t, count, (tw *w), (w)) \
    F(tw_tick, now, (tw *w), (w)) \
    F(tw_tick, next, (tw *w), (w)) \
    F(int, first_due, (tw *w, uint32_t looks, tw_tick *tick), (w, looks, tick)) \
    F(tw_tick, overruns, (tw *w), (w)) \
    F(tw_tick, due, (tw *w), (w)) \
    F(tw_node *, running, (tw *w), (w)) \
    F(int, advance, (tw *w, tw_tick now, uint32_t budget), (w, now, budget)) \
    F(int, update, (tw *w), (w)) \
    F(int, idle, (tw *w, uint32_t budget), (w, budget)) \
    F(int, interrupt, (tw *w), (w)) \
    F(int, abandon, (tw *w), (w)) \
    F(int, check, (tw *w, tw_report *report, void *arg), (w, report, arg))

struct shape_api : public shape {
#define POINTER(result, name, parameters, arguments) result (*name) parameters;
    FUNCTIONS_OF_WHEELS(POINTER)
#undef POINTER
    int (*arm_every)(tw *, tw_node *, tw_tick, tw_tick, const tw_missed &, uint32_t);
    int (*fork)(tw *, const tw_fork_moment &);
};
// clang-format on

// Those of the library that the test links, and then null. Written by the build; see WheelShapes.cmake.
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
    made.fork = functions::fork;
    return made;
}
