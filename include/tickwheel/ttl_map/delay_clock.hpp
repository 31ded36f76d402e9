// tickwheel/ttl_map/delay_clock.hpp - the clock that a runtime counts delays on. Part of ttl_map.hpp.
#include <tickwheel/cplusplus.hpp>
#if defined(TICKWHEEL_CPLUSPLUS_20) && !defined(TICKWHEEL_TTL_MAP_DELAY_CLOCK_HPP)
#define TICKWHEEL_TTL_MAP_DELAY_CLOCK_HPP

#include <cerrno>
#include <cstdint>

#include <tickwheel/chrono.hpp>
#include <tickwheel/runtime.h>

namespace tickwheel::detail {

// Reads the clock that delays are counted on. On most runtimes that is tw_runtime_now. A runtime
// on the wall clock counts delays on a steady clock, which the C interface does not show: there,
// the constructor arms a node for the end of time, and now() subtracts the node's remaining time.
//
// now() may be called from any thread. The constructor throws std::system_error for a runtime
// that is null or cannot be used.
class delay_clock {
  public:
    explicit delay_clock(tw_runtime *rt) : rt_(rt) {
        tw_node_init(
            &end_, [](tw_node *, void *) {}, nullptr);
        check(tw_runtime_at(rt, &end_, TW_NO_DEADLINE - 1));
        is_wall_ = tw_runtime_postpone(rt, &end_, 0) == -EINVAL;  // refused for nodes on the wall clock
        if (is_wall_)
            tw_runtime_after(rt, &end_, TW_NO_DEADLINE);
        else
            tw_runtime_cancel(rt, &end_);
    }
    ~delay_clock() { tw_runtime_cancel_wait(rt_, &end_); }
    delay_clock(const delay_clock &) = delete;
    delay_clock &operator=(const delay_clock &) = delete;

    std::int64_t now() const {
        return is_wall_ ? TW_NO_DEADLINE - tw_runtime_remaining(rt_, &end_) : tw_runtime_now(rt_);
    }

  private:
    tw_runtime *rt_;
    tw_node end_;
    bool is_wall_;
};

}  // namespace tickwheel::detail

#endif
