// libev: its heap stores the deadlines, and ev_timer_again moves a timer in one call. Delays
// count from the loop's own time, which stands still between iterations.
#include <ev.h>

#include <string>

#include "../workloads.h"

namespace {

class Libev {
  public:
    using Time = ev_tstamp;
    using Record = ev_timer;
    static constexpr bool virtual_time = false;

    Libev(std::size_t n, bench::Scale scale)
        : loop_(ev_loop_new(EVFLAG_AUTO)),
          seconds_per_tick_(std::chrono::duration<double>(scale.tick).count()),
          seconds_ahead_(std::chrono::duration<double>(scale.ahead).count()),
          timers_(static_cast<ev_timer *>(bench::fresh_memory(n * sizeof(ev_timer)))) {
        bench::require(loop_, "ev_loop_new");
        for (std::size_t i = 0; i < n; ++i) {
            ev_timer_init(&timers_[i], count, 0., 0.);
            timers_[i].data = &fired_;
        }
        ev_now_update(loop_);
    }
    ~Libev() { ev_loop_destroy(loop_); }
    Libev(const Libev &) = delete;
    Libev &operator=(const Libev &) = delete;

    Time time(std::uint64_t tick) const {
        return seconds_ahead_ + static_cast<double>(tick) * seconds_per_tick_;
    }
    Time timeout(std::uint64_t tick) const { return time(tick); }
    std::uint64_t fired() const { return fired_; }

    void arm(std::uint32_t i, Time after) {
        ev_timer_set(&timers_[i], after, 0.);
        ev_timer_start(loop_, &timers_[i]);
    }
    void move(std::uint32_t i, Time after) {
        timers_[i].repeat = after;
        ev_timer_again(loop_, &timers_[i]);
    }
    void postpone(std::uint32_t i, Time after) { move(i, after); }
    void cancel(std::uint32_t i) { ev_timer_stop(loop_, &timers_[i]); }
    void every(std::uint32_t i, std::uint32_t period) {
        ev_timer_set(&timers_[i], time(period), time(period));
        ev_timer_start(loop_, &timers_[i]);
    }

    template <class Work> void inside(Work &&work) { work(); }
    void dispatch() { ev_run(loop_, EVRUN_NOWAIT); }
    void wait() { ev_run(loop_, EVRUN_ONCE); }

  private:
    static void count(struct ev_loop *, ev_timer *timer, int) {
        ++*static_cast<std::uint64_t *>(timer->data);
    }

    struct ev_loop *loop_;
    double seconds_per_tick_, seconds_ahead_;
    ev_timer *timers_;
    std::uint64_t fired_ = 0;
};

const std::string version = std::to_string(ev_version_major()) + "." + std::to_string(ev_version_minor());
const bench::Module module{version.c_str(), "ev_timer_again", false, bench::run<Libev>};

}  // namespace

const bench::Module *bench::tickwheel_bench_module() { return &module; }
