// The walk over all pending timers: first the nodes of each timeline, by the wheel's own walk; then the armed
// records of all sets. Any thread.
#include <tickwheel/observe.h>

#include "runtime/labels.hpp"
#include "runtime/nodes.hpp"
#include "runtime/wall.hpp"
#include "timers/record_set.hpp"

using namespace tickwheel;

namespace {

// One walk: passes each pending timer to the user's visitor.
struct pending_walk {
    tw_runtime &rt;
    tw_pending_visitor *visit;
    void *arg;
    std::int64_t visits = 0;

    // True if the visitor has ended the walk: it has freed the runtime, or has forked and this is the child.
    bool is_over() const { return rt.is_freed != 0 || rt.forked; }

    void hand_out(tw_pending_timer &timer, unsigned label, const runtime::timeline &of) {
        if (is_over())
            return;
        timer.label = runtime::label_text(rt, label);
        timer.remaining_ns = timer.due_ns == TW_NO_DEADLINE ? TW_NO_DEADLINE : timer.due_ns - of.clock.read();
        timer.on_wall = of.can_be_set ? 1 : 0;
        visit(&timer, arg);
        ++visits;
    }
};

std::int64_t period_of(const tw_node &node, const runtime::tick_unit &unit) {
    return static_cast<std::int64_t>(node.period * (node.part != 0 ? unit.part : unit.ns));
}

void meet_node(pending_walk &walk, const runtime::timeline &line, const tw_node &node, const tw_node &was) {
    tw_pending_timer timer = {};
    timer.node = &node;
    timer.due_ns = line.deadline_of(was.expiry);
    timer.period_ns = period_of(was, line.unit);
    walk.hand_out(timer, runtime::label_of(was), line);
}

void meet_record(const timers::met_record &met, void *arg) {
    pending_walk &walk = *static_cast<pending_walk *>(arg);
    tw_pending_timer timer = {};
    timer.handle = met.handle;
    timer.key = met.handle == TW_NO_HANDLE ? &met.key : nullptr;
    timer.due_ns = met.due;
    timer.period_ns = met.period;
    walk.hand_out(timer, met.label, met.is_on_wall ? *walk.rt.absolute : walk.rt.steady);
}

void walk_nodes(pending_walk &walk) {
    runtime::for_each_timeline(walk.rt, [&](runtime::timeline &line) {
        tw_walk at = {};
        while (!walk.is_over()) {
            const tw_node *const node = tw_walk_next(&line.wheel, &at);
            if (node == nullptr)
                return;
            meet_node(walk, line, *node, at.was);
        }
    });
}

void walk_records(pending_walk &walk) {
    timers::walk_position at;
    while (!walk.is_over() && visit_next(walk.rt, at, meet_record, &walk)) {
    }
}

}  // namespace

TW_API int64_t tw_runtime_each(tw_runtime *rt, tw_pending_visitor *visit, void *arg) {
    if (const int error = runtime::check_usable(rt); error != 0)
        return error;
    if (visit == nullptr)
        return runtime::refuse(-EINVAL, "the visitor is null");
    const runtime::no_thread_cancel guard;
    runtime::end_of_call end;
    const runtime::inside_user_code frame(*rt, end);
    pending_walk walk = {*rt, visit, arg};
    walk_nodes(walk);
    walk_records(walk);
    return rt->forked ? -ECHILD : walk.visits;
}
