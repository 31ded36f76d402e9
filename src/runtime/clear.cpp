// tw_runtime_clear: cancels everything that is armed, in one call. Any thread.
//
// Timers that the library keeps have their nodes on the same wheels, but are not cleared: their nodes come
// off with all others, and are armed again at once. A call on such a timer must not find its node gone for
// a moment, so all locks of components are held meanwhile (lock_all). They are released every now and then
// (P8), and always while a function of the user's runs.
#include "components.hpp"
#include "nodes.hpp"
#include "wall.hpp"

namespace {

using namespace tickwheel::runtime;

constexpr unsigned moves_a_hold = 64;  // P8

class clearing {
  public:
    clearing(tw_runtime &rt, tw_callback *each, void *arg) : rt_(rt), each_(each), arg_(arg) {}

    // If the wall clock is set back meanwhile, tw_postpone_all takes the nodes that tw_clear has not
    // handed out yet back to the wheel, and another tw_clear clears them.
    void clear(timeline &line) {
        line_ = &line;
        lock_all(rt_);
        std::uint64_t times_set_back;
        do {
            times_set_back = line.times_set_back.load(std::memory_order_relaxed);
            tw_clear(&line.wheel, take, this);
        } while (line.times_set_back.load(std::memory_order_relaxed) != times_set_back);
        unlock_all(rt_);
    }

    // Fires that have left their wheel and wait in a component, as those of jobs do.
    void clear_components() {
        begin_to_clear_components(rt_);
        while (tw_node *const node = clear_one_in_components(rt_))
            tell(*node);
    }

  private:
    static void take(tw_node *node, void *self) { static_cast<clearing *>(self)->take(*node); }

    // Called by tw_clear for each node, with the wheel's lock released and all others held.
    void take(tw_node &node) {
        if (node.fn == rt_.callback_kept_by_clear.load(std::memory_order_relaxed)) {
            put_back(node);
            return;
        }
        unlock_all(rt_);
        withdraw_fires(rt_, node);
        tell(node);
        lock_all(rt_);
    }

    // Arms a node as it was: same tick, same grid, same number of fires left.
    void arm_again(tw_node &node) {
        tw *const wheel = &line_->wheel;
        const auto missed = static_cast<tw_missed>(node.missed);
        if (node.period == 0) {
            tw_arm_at(wheel, &node, node.expiry);
        } else if (node.part == 0) {
            tw_arm_every(wheel, &node, node.expiry, node.period, missed, node.fires_left);
        } else {
            const tw_grid grid = {node.expiry, node.part - 1, line_->unit.parts(),
                                  node.period, missed,        node.fires_left};
            tw_arm_grid(wheel, &node, &grid);
        }
    }

    // The driver may have gone to sleep while the node was off the wheel, so it may have to be woken (P2).
    void put_back(tw_node &node) {
        const tick due = node.expiry;
        arm_again(node);
        if (line_->sleeps_beyond(due))
            wake_driver(rt_);
        if (++moves_ % moves_a_hold == 0) {
            unlock_all(rt_);
            lock_all(rt_);
        }
    }

    // If `each` forks, nothing more is called in the child.
    void tell(tw_node &node) {
        const inside_user_code frame(rt_, end_);
        if (each_ != nullptr && !rt_.forked)
            each_(&node, arg_);
    }

    tw_runtime &rt_;
    tw_callback *each_;
    void *arg_;
    timeline *line_ = nullptr;
    unsigned moves_ = 0;
    end_of_call end_;
};

}  // namespace

TW_API int tw_runtime_clear(tw_runtime *rt, tw_callback *each, void *arg) {
    if (const int error = check_usable(rt); error != 0)
        return error;
    const no_thread_cancel guard;
    clearing all(*rt, each, arg);
    for_each_timeline(*rt, [&all](timeline &line) { all.clear(line); });
    all.clear_components();
    return check_usable(rt);
}
