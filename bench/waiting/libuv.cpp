// libuv: milliseconds, counted from the loop's own time, which also has whole milliseconds only.
// So deadlines are rounded up to that grid; otherwise timers would fire early.
#include <uv.h>

#include "../waiting.h"

namespace {

class Libuv {
  public:
    Libuv(bench::Listener &listener, std::size_t pending) : timers_(pending) {
        bench::require(uv_loop_init(&loop_) == 0, "uv_loop_init");
        bench::require(uv_async_init(&loop_, &always_there_, [](uv_async_t *) {}) == 0, "uv_async_init");
        uv_timer_init(&loop_, &timer_);
        timer_.data = &listener;
        bench::FarDelays delays;
        for (uv_timer_t &each : timers_) {
            uv_timer_init(&loop_, &each);
            each.data = &listener;
            uv_timer_start(&each, fire, static_cast<std::uint64_t>(delays.next_us() / 1000), 0);
        }
    }
    ~Libuv() {
        uv_walk(
            &loop_, [](uv_handle_t *handle, void *) { uv_close(handle, nullptr); }, nullptr);
        uv_run(&loop_, UV_RUN_DEFAULT);
        uv_loop_close(&loop_);
    }
    Libuv(const Libuv &) = delete;
    Libuv &operator=(const Libuv &) = delete;

    void at(std::int64_t deadline_ns) {
        uv_update_time(&loop_);
        const auto deadline_ms = static_cast<std::uint64_t>((deadline_ns + 999'999) / 1'000'000);
        const std::uint64_t now_ms = uv_now(&loop_);
        uv_timer_start(&timer_, fire, deadline_ms > now_ms ? deadline_ms - now_ms : 0, 0);
    }
    void run() { uv_run(&loop_, UV_RUN_DEFAULT); }
    void stop() { uv_stop(&loop_); }

  private:
    static void fire(uv_timer_t *timer) { static_cast<bench::Listener *>(timer->data)->fired(); }

    uv_loop_t loop_;
    uv_async_t always_there_;
    uv_timer_t timer_;
    std::vector<uv_timer_t> timers_;
};

const bench::Module module{uv_version_string(), "uv_timer_start: milliseconds", false,
                           bench::run_waiting<Libuv>};

}  // namespace

const bench::Module *bench::tickwheel_bench_module() { return &module; }
