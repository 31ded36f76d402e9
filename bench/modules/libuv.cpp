// libuv: milliseconds, counted from the loop's own time.
#include <uv.h>

#include "../workloads.h"

namespace {

class Libuv {
  public:
    using Time = std::uint64_t;
    using Record = uv_timer_t;
    static constexpr bool virtual_time = false;

    Libuv(std::size_t n, bench::Scale scale)
        : scale_(scale), n_(n),
          timers_(static_cast<uv_timer_t *>(bench::fresh_memory(n * sizeof(uv_timer_t)))) {
        bench::require(uv_loop_init(&loop_) == 0, "uv_loop_init");
        for (std::size_t i = 0; i < n; ++i) {
            uv_timer_init(&loop_, &timers_[i]);
            timers_[i].data = &fired_;
        }
        uv_update_time(&loop_);
    }
    ~Libuv() {
        for (std::size_t i = 0; i < n_; ++i)
            uv_close(reinterpret_cast<uv_handle_t *>(&timers_[i]), nullptr);
        uv_run(&loop_, UV_RUN_DEFAULT);
        uv_loop_close(&loop_);
    }
    Libuv(const Libuv &) = delete;
    Libuv &operator=(const Libuv &) = delete;

    Time time(std::uint64_t tick) const {
        const auto after = scale_.ahead + scale_.tick * static_cast<std::int64_t>(tick);
        return static_cast<Time>(std::chrono::ceil<std::chrono::milliseconds>(after).count());
    }
    Time timeout(std::uint64_t tick) const { return time(tick); }
    std::uint64_t fired() const { return fired_; }

    void arm(std::uint32_t i, Time after) { uv_timer_start(&timers_[i], count, after, 0); }
    void move(std::uint32_t i, Time after) { uv_timer_start(&timers_[i], count, after, 0); }
    void postpone(std::uint32_t i, Time after) {
        uv_timer_set_repeat(&timers_[i], after);
        uv_timer_again(&timers_[i]);
    }
    void cancel(std::uint32_t i) { uv_timer_stop(&timers_[i]); }
    void every(std::uint32_t i, std::uint32_t period) {
        uv_timer_start(&timers_[i], count, time(period), time(period));
    }

    template <class Work> void inside(Work &&work) { work(); }
    void dispatch() { uv_run(&loop_, UV_RUN_NOWAIT); }
    void wait() { uv_run(&loop_, UV_RUN_ONCE); }

  private:
    static void count(uv_timer_t *timer) { ++*static_cast<std::uint64_t *>(timer->data); }

    bench::Scale scale_;
    std::size_t n_;
    uv_timer_t *timers_;
    uv_loop_t loop_;
    std::uint64_t fired_ = 0;
};

const bench::Module module{uv_version_string(), "uv_timer_again", false, bench::run<Libuv>};

}  // namespace

const bench::Module *bench::tickwheel_bench_module() { return &module; }
