// tw_runtime_cancel_all: cancels every node in one call. Any thread.
//
// Holds the wall timeline's mutex, except while it withdraws a node's fires and calls the user's function. So
// another thread can shift the nodes only then, and `cancel_nodes` notices.
#include "components.hpp"
#include "core/door.h"
#include "nodes.hpp"
#include "wall.hpp"

namespace {

using namespace tickwheel::runtime;

class canceller {
  public:
    canceller(tw_runtime &rt, tw_callback *each, void *arg) : rt_(rt), each_(each), arg_(arg) {}

    // If the wall clock is set back meanwhile, tw_core_shift puts the nodes that tw_cancel_all has not handed
    // out yet back on the wheel, and another tw_cancel_all takes them.
    void cancel_nodes(timeline &line) {
        wall_hold::lock(rt_);
        std::uint64_t times_set_back;
        do {
            times_set_back = line.times_set_back.load(std::memory_order_relaxed);
            tw_cancel_all(&line.wheel, take, this);
        } while (line.times_set_back.load(std::memory_order_relaxed) != times_set_back);
        wall_hold::unlock(rt_);
    }

    // Withdraws the fires that have left their wheel and wait in a component, as the fires of work items do.
    void withdraw_waiting_fires() {
        begin_withdrawal_in_components(rt_);
        while (tw_node *const node = withdraw_next_in_components(rt_))
            visit(*node);
    }

  private:
    static void take(tw_node *node, void *self) {
        auto &all = *static_cast<canceller *>(self);
        all.rt_.wall_mutex.assume_held();  // by `cancel_nodes`
        all.take(*node);
    }

    // tw_cancel_all calls this for each node, with the wheel's lock released.
    void take(tw_node &node) TW_YIELDS(rt_.wall_mutex) {
        wall_hold::unlock(rt_);
        withdraw_fires(rt_, node);
        visit(node);
        wall_hold::lock(rt_);
    }

    // If `each` forks, the child calls nothing more.
    void visit(tw_node &node) {
        const inside_user_code frame(rt_, end_);
        if (each_ != nullptr && !rt_.forked)
            each_(&node, arg_);
    }

    tw_runtime &rt_;
    tw_callback *each_;
    void *arg_;
    end_of_call end_;
};

}  // namespace

TW_API int tw_runtime_cancel_all(tw_runtime *rt, tw_callback *each, void *arg) {
    registry::check_runtime(rt, __builtin_return_address(0));
    if (const int error = check_usable(rt); error != 0)
        return error;
    const no_thread_cancel guard;
    canceller all(*rt, each, arg);
    for_each_timeline(*rt, [&all](timeline &line) { all.cancel_nodes(line); });
    all.withdraw_waiting_fires();
    return check_usable(rt);
}
