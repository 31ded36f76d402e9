// libevent with its precise timer, a timerfd next to epoll, and without cached time. Delays are in
// microseconds. Without those flags they would be in milliseconds.
#include <event2/event.h>
#include <event2/event_struct.h>

#include "../waiting.h"

namespace {

timeval to_timeval(std::int64_t us) {
    us = std::max<std::int64_t>(us, 0);
    return {us / 1'000'000, us % 1'000'000};
}

class Libevent {
  public:
    Libevent(bench::Listener &listener, std::size_t pending) : base_(precise_base()), events_(pending) {
        bench::require(base_, "event_base_new");
        evtimer_assign(&timer_, base_, fire, &listener);
        bench::FarDelays delays;
        for (event &each : events_) {
            const timeval delay = to_timeval(delays.next_us());
            evtimer_assign(&each, base_, fire, &listener);
            event_add(&each, &delay);
        }
    }
    ~Libevent() { event_base_free(base_); }
    Libevent(const Libevent &) = delete;
    Libevent &operator=(const Libevent &) = delete;

    void at(std::int64_t deadline_ns) {
        const std::int64_t delay_ns = deadline_ns - bench::monotonic_ns();
        const timeval delay = to_timeval((delay_ns + bench::microsecond - 1) / bench::microsecond);
        event_add(&timer_, &delay);
    }
    void run() { event_base_loop(base_, EVLOOP_NO_EXIT_ON_EMPTY); }
    void stop() { event_base_loopbreak(base_); }

  private:
    static event_base *precise_base() {
        event_config *config = event_config_new();
        event_config_set_flag(config, EVENT_BASE_FLAG_PRECISE_TIMER);
        event_config_set_flag(config, EVENT_BASE_FLAG_NO_CACHE_TIME);
        event_base *base = event_base_new_with_config(config);
        event_config_free(config);
        return base;
    }
    static void fire(evutil_socket_t, short, void *listener) {
        static_cast<bench::Listener *>(listener)->fired();
    }

    event_base *base_;
    event timer_;
    std::vector<event> events_;
};

const bench::Module module{event_get_version(), "event_add, precise timer, no cached time: microseconds",
                           false, bench::run_waiting<Libevent>};

}  // namespace

const bench::Module *bench::tickwheel_bench_module() { return &module; }
