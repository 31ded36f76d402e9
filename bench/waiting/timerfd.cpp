// The system's own limit: a thread that sets a timerfd and reads it. It has no other timers,
// regardless of n.
#include <sys/timerfd.h>
#include <unistd.h>

#include "../waiting.h"

namespace {

class TimerfdLoop {
  public:
    TimerfdLoop(bench::Listener &listener, std::size_t)
        : listener_(listener), fd_(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC)) {
        bench::require(fd_ >= 0, "timerfd_create");
    }
    ~TimerfdLoop() { close(fd_); }
    TimerfdLoop(const TimerfdLoop &) = delete;
    TimerfdLoop &operator=(const TimerfdLoop &) = delete;

    void at(std::int64_t deadline_ns) {
        itimerspec when{};
        when.it_value = {deadline_ns / bench::second, deadline_ns % bench::second};
        timerfd_settime(fd_, TFD_TIMER_ABSTIME, &when, nullptr);
    }
    void run() {
        for (std::uint64_t expirations; !stopped_;)
            if (read(fd_, &expirations, sizeof expirations) == sizeof expirations)
                listener_.fired();
    }
    void stop() { stopped_ = true; }

  private:
    bench::Listener &listener_;
    int fd_;
    bool stopped_ = false;
};

const bench::Module module{"own baseline", "timerfd_settime, absolute, and read", false,
                           bench::run_waiting<TimerfdLoop>};

}  // namespace

const bench::Module *bench::tickwheel_bench_module() { return &module; }
