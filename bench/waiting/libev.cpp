// libev on the select backend, which waits in microseconds; epoll would wait in milliseconds.
// Delays count from the loop's own time, so the module updates that time first.
#include <ev.h>

#include <string>

#include "../waiting.h"

namespace {

class Libev {
  public:
    Libev(bench::Listener &listener, std::size_t pending)
        : loop_(ev_loop_new(EVBACKEND_SELECT)), timers_(pending) {
        bench::require(loop_, "ev_loop_new");
        ev_init(&timer_, fire);
        timer_.data = &listener;
        ev_async_init(&always_there_, [](struct ev_loop *, ev_async *, int) {});
        ev_async_start(loop_, &always_there_);
        bench::FarDelays delays;
        for (ev_timer &each : timers_) {
            ev_timer_init(&each, fire, static_cast<double>(delays.next_us()) * 1e-6, 0.);
            ev_timer_start(loop_, &each);
        }
    }
    ~Libev() { ev_loop_destroy(loop_); }
    Libev(const Libev &) = delete;
    Libev &operator=(const Libev &) = delete;

    void at(std::int64_t deadline_ns) {
        ev_now_update(loop_);
        ev_timer_set(&timer_, static_cast<double>(deadline_ns - bench::monotonic_ns()) * 1e-9, 0.);
        ev_timer_start(loop_, &timer_);
    }
    void run() { ev_run(loop_, 0); }
    void stop() { ev_break(loop_, EVBREAK_ALL); }

  private:
    static void fire(struct ev_loop *, ev_timer *timer, int) {
        static_cast<bench::Listener *>(timer->data)->fired();
    }

    struct ev_loop *loop_;
    ev_timer timer_;
    ev_async always_there_;
    std::vector<ev_timer> timers_;
};

const std::string version = std::to_string(ev_version_major()) + "." + std::to_string(ev_version_minor());
const bench::Module module{version.c_str(), "ev_timer, select backend: microseconds", false,
                           bench::run_waiting<Libev>};

}  // namespace

const bench::Module *bench::tickwheel_bench_module() { return &module; }
