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

void visit_node(pending_walk &walk, const runtime::timeline &line, tw_node *node, const tw_node &was) {
    tw_entry entry = {};
    entry.node = node;
    entry.label = runtime::label_text(walk.rt, runtime::label_of(was));
    entry.due_ns = line.deadline_of(was.expiry);
    entry.remaining_ns = runtime::until(entry.due_ns, line.clock.read());
    entry.period_ns = runtime::period_of(was, line.unit);
    entry.on_wall = line.can_be_set ? 1 : 0;
    walk.result = walk.to.visit(&entry, walk.to.arg);
}

void walk_nodes(pending_walk &walk) {
    runtime::for_each_timeline(walk.rt, [&](runtime::timeline &line) {
        tw_walk at = {};
        while (!walk.is_over()) {
            tw_node *const node = tw_walk_next(&line.wheel, &at);
            if (node == nullptr)
                return;
            visit_node(walk, line, node, at.was);
        }
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
