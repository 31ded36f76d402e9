// Runtimes for tests of the map, and short names for durations.
#pragma once

#include <chrono>
#include <system_error>

#include <tickwheel/runtime.h>

using namespace std::chrono_literals;

class some_runtime {
  public:
    explicit some_runtime(const tw_runtime_options &options) { must(tw_runtime_new(&rt_, &options)); }
    ~some_runtime() { tw_runtime_free(rt_); }
    some_runtime(const some_runtime &) = delete;
    some_runtime &operator=(const some_runtime &) = delete;

    tw_runtime *native() const { return rt_; }

  protected:
    static void must(int result) {
        if (result < 0)
            throw std::system_error(-result, std::generic_category());
    }
    tw_runtime *rt_ = nullptr;
};

// Virtual time, in ticks of 1 ms.
class virtual_runtime : public some_runtime {
  public:
    explicit virtual_runtime(tw_clock clock = TW_CLOCK_VIRTUAL) : some_runtime(options(clock)) {}

    void advance(std::chrono::nanoseconds by) { must(tw_runtime_advance(rt_, by.count())); }
    void leap(std::chrono::nanoseconds by) { must(tw_runtime_leap(rt_, by.count())); }
    void set_wall(std::chrono::nanoseconds to) { must(tw_runtime_set_wall(rt_, to.count())); }

  private:
    static tw_runtime_options options(tw_clock clock) {
        tw_runtime_options o = {};
        o.driver = "manual";
        o.clock = clock;
        return o;
    }
};

// A runtime with a thread, and ticks of 50 us.
class threaded_runtime : public some_runtime {
  public:
    threaded_runtime() : some_runtime(options()) { must(tw_runtime_start(rt_)); }

  private:
    static tw_runtime_options options() {
        tw_runtime_options o = {};
        o.tick_ns = 50 * TW_MICROSECOND;
        return o;
    }
};

// Runs `what` on the runtime's thread after `after`, before timers armed later for the same tick.
// With leap(), timers due by then are late.
template <class What> class at_time {
  public:
    at_time(some_runtime &rt, std::chrono::nanoseconds after, What what) : rt_(rt), what_(what) {
        tw_node_init(
            &node_, [](tw_node *, void *self) { static_cast<at_time *>(self)->what_(); }, this);
        tw_runtime_after(rt.native(), &node_, after.count());
    }
    ~at_time() { tw_runtime_cancel_wait(rt_.native(), &node_); }
    at_time(const at_time &) = delete;
    at_time &operator=(const at_time &) = delete;

  private:
    some_runtime &rt_;
    What what_;
    tw_node node_;
};
