// libev behind a mutex, as its manual recommends: the loop releases the mutex only while it
// waits, and a thread that arms a timer wakes it with ev_async. Built twice; the second build
// skips needless wake-ups. libev does not say until when it waits, so that build keeps a timer of
// its own, `look_`, which makes the loop look again by a known time, and wakes the loop only for
// earlier deadlines.
#include <ev.h>

#include <mutex>
#include <string>

#include "../threads.h"

namespace {

class Libev {
  public:
    explicit Libev(std::size_t n)
        : loop_(ev_loop_new(EVFLAG_AUTO)),
          timers_(static_cast<ev_timer *>(bench::fresh_memory(n * sizeof(ev_timer)))) {
        bench::require(loop_, "ev_loop_new");
        for (std::size_t i = 0; i < n; ++i) {
            ev_init(&timers_[i], fire);
            timers_[i].data = this;
        }
        ev_init(&look_, [](struct ev_loop *loop, ev_timer *look, int) { ev_timer_stop(loop, look); });
        ev_async_init(&wake_, woken);
        ev_async_start(loop_, &wake_);
        ev_set_userdata(loop_, this);
        ev_set_loop_release_cb(loop_, release, acquire);
        thread_ = std::thread([this] {
            mutex_.lock();
            ev_run(loop_, 0);
            mutex_.unlock();
        });
    }
    ~Libev() {
        over_ = true;
        ev_async_send(loop_, &wake_);
        thread_.join();
        ev_loop_destroy(loop_);
    }
    Libev(const Libev &) = delete;
    Libev &operator=(const Libev &) = delete;

    void arm(std::uint32_t i, std::int64_t delay_ns) {
        const std::lock_guard hold(mutex_);
        ev_now_update(loop_);
        timers_[i].repeat = static_cast<double>(delay_ns) * 1e-9;
        ev_timer_again(loop_, &timers_[i]);
        if (!BENCH_SPARING || !looks_by(timers_[i].repeat))
            ev_async_send(loop_, &wake_);
    }
    void cancel(std::uint32_t i) {
        const std::lock_guard hold(mutex_);
        ev_timer_stop(loop_, &timers_[i]);
    }
    std::uint64_t fired() const { return fired_; }

  private:
    // Returns true if the loop looks at its timers within `delay` anyway. If not, sets `look_` so that it
    // will.
    bool looks_by(ev_tstamp delay) {
        if (ev_is_active(&look_) && ev_timer_remaining(loop_, &look_) <= delay)
            return true;
        look_.repeat = delay;
        ev_timer_again(loop_, &look_);
        return false;
    }

    static Libev &of(struct ev_loop *loop) { return *static_cast<Libev *>(ev_userdata(loop)); }
    static void release(struct ev_loop *loop) noexcept { of(loop).mutex_.unlock(); }
    static void acquire(struct ev_loop *loop) noexcept { of(loop).mutex_.lock(); }

    // ev_break only works inside a callback.
    static void woken(struct ev_loop *loop, ev_async *, int) {
        if (of(loop).over_)
            ev_break(loop, EVBREAK_ALL);
    }
    static void fire(struct ev_loop *loop, ev_timer *timer, int) {
        ev_timer_stop(loop, timer);  // one fire, without a repeat
        ++static_cast<Libev *>(timer->data)->fired_;
    }

    struct ev_loop *loop_;
    ev_timer *timers_;
    ev_timer look_;
    ev_async wake_;
    std::mutex mutex_;
    std::atomic<bool> over_{false};
    std::atomic<std::uint64_t> fired_{0};
    std::thread thread_;
};

const std::string version = std::to_string(ev_version_major()) + "." + std::to_string(ev_version_minor());
const bench::Module module{version.c_str(),
                           BENCH_SPARING ? "ev_timer_again, mutex, ev_async if need be"
                                         : "ev_timer_again, mutex, ev_async",
                           false, bench::run_threads<Libev>};

}  // namespace

const bench::Module *bench::tickwheel_bench_module() { return &module; }
