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
    timers::record_visitor to;
    int result = 0;

    // True if the visitor has ended the walk, has freed the runtime, or has forked and this is the child.
    bool is_over() const { return result != 0 || rt.is_freed != 0 || rt.forked; }
};

// Walks on, and describes a node if it reaches one; else entry.node is null. Returns false at the end. Holds
// the wall mutex, so that the ticks of the node's copy mean the same deadlines until they are converted; but
// for one hold of the wheel's lock only (P8).
bool walk_on(tw_runtime &rt, runtime::timeline &line, tw_walk &at, tw_entry &entry) {
    const runtime::wall_hold hold(rt);
    entry = {};
    const bool goes_on = runtime::walk_some(line, at, entry.node);
    if (entry.node == nullptr)
        return goes_on;
    entry.label = runtime::label_text(rt, runtime::label_of(at.was));
    entry.due_ns = line.deadline_of(at.was.expiry);
    entry.remaining_ns = runtime::until(entry.due_ns, line.clock.read());
    entry.period_ns = runtime::period_of(at.was, line.unit);
    entry.on_wall = line.can_be_set ? 1 : 0;
    return true;
}

void walk_nodes(pending_walk &walk) {
    runtime::for_each_timeline(walk.rt, [&](runtime::timeline &line) {
        tw_walk at = {};
        tw_entry entry;
        while (!walk.is_over() && walk_on(walk.rt, line, at, entry))
            if (entry.node != nullptr)
                walk.result = runtime::explain_system_error(walk.to.visit(&entry, walk.to.arg));
        tw_walk_end(&line.wheel, &at);
    });
}

void walk_records(pending_walk &walk) {
    timers::walk_position at;
    while (!walk.is_over() && visit_next(walk.rt, at, walk.to, walk.result)) {
    }
}

}  // namespace

TW_API int tw_runtime_each(tw_runtime *rt, tw_visitor *visit, void *arg) {
    if (const int error = runtime::check_usable(rt); error != 0)
        return error;
    if (visit == nullptr)
        return runtime::refuse_visitor();
    const runtime::no_thread_cancel guard;
    runtime::end_of_call end;
    const runtime::inside_user_code frame(*rt, end);
    pending_walk walk = {*rt, {visit, arg}};
    walk_nodes(walk);
    walk_records(walk);
    return rt->forked ? -ECHILD : walk.result;
}
