// libevent: a heap, plus queues of timers with a common timeout. Its manual recommends the queues
// for servers, and postpone uses them. Thread support is off, so it takes no locks. Adding from
// inside a callback saves it a clock read.
#include <event2/event.h>
#include <event2/event_struct.h>

#include "../workloads.h"

namespace {

class Libevent {
  public:
    using Time = timeval;
    using Record = event;
    static constexpr bool virtual_time = false;

    Libevent(std::size_t n, bench::Scale scale)
        : base_(event_base_new()), scale_(scale),
          timers_(static_cast<event *>(bench::fresh_memory(n * sizeof(event)))) {
        bench::require(base_, "event_base_new");
        for (std::size_t i = 0; i < n; ++i)
            evtimer_assign(&timers_[i], base_, count, &fired_);
    }
    ~Libevent() { event_base_free(base_); }
    Libevent(const Libevent &) = delete;
    Libevent &operator=(const Libevent &) = delete;

    Time time(std::uint64_t tick) const {
        const auto after = scale_.ahead + scale_.tick * static_cast<std::int64_t>(tick);
        const auto us = std::chrono::ceil<std::chrono::microseconds>(after).count();
        return {us / 1000000, us % 1000000};
    }
    // Rounds to one common timeout per 1024 ticks: in a real server the time moves on while the
    // timeout stays the same.
    Time timeout(std::uint64_t tick) const {
        const Time duration = time(tick & ~std::uint64_t{1023});
        return *event_base_init_common_timeout(base_, &duration);
    }
    std::uint64_t fired() const { return fired_; }

    void arm(std::uint32_t i, const Time &after) { event_add(&timers_[i], &after); }
    void move(std::uint32_t i, const Time &after) { event_add(&timers_[i], &after); }
    void postpone(std::uint32_t i, const Time &after) { event_add(&timers_[i], &after); }
    void cancel(std::uint32_t i) { event_del(&timers_[i]); }
    void every(std::uint32_t i, std::uint32_t period) {
        event_assign(&timers_[i], base_, -1, EV_PERSIST, count, &fired_);
        arm(i, time(period));
    }

    template <class Work> void inside(Work &&work) {
        event entry;
        event_assign(&entry, base_, -1, 0, run_work<Work>, &work);
        event_active(&entry, EV_TIMEOUT, 0);
        event_base_loop(base_,
                        EVLOOP_ONCE | EVLOOP_NONBLOCK);  // one turn: only the work runs
    }
    void dispatch() { event_base_loop(base_, EVLOOP_NONBLOCK); }
    void wait() { event_base_loop(base_, EVLOOP_ONCE); }

  private:
    static void count(evutil_socket_t, short, void *fired) { ++*static_cast<std::uint64_t *>(fired); }

    template <class Work> static void run_work(evutil_socket_t, short, void *work) {
        (*static_cast<std::remove_reference_t<Work> *>(work))();
    }

    event_base *base_;
    bench::Scale scale_;
    event *timers_;
    std::uint64_t fired_ = 0;
};

const bench::Module module{event_get_version(), "event_add, common timeout", false, bench::run<Libevent>};

}  // namespace

const bench::Module *bench::tickwheel_bench_module() { return &module; }
