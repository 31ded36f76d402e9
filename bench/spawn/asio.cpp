// Boost.Asio on a manual clock: no locks, no type-erased executor. Each lambda owns a timer
// allocated for it.
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/version.hpp>

#include <chrono>
#include <memory>

#include "spawn.h"

namespace {

namespace asio = boost::asio;

struct ManualClock {
    using duration = std::chrono::milliseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<ManualClock>;
    static constexpr bool is_steady = true;
    static inline time_point present{};
    static time_point now() { return present; }
};
using Timer =
    asio::basic_waitable_timer<ManualClock, asio::wait_traits<ManualClock>, asio::io_context::executor_type>;

class Loop {
  public:
    template <class F> void spawn(std::uint32_t tick, F f) {
        auto owned = std::make_unique<Timer>(context_, std::chrono::milliseconds(tick));
        Timer &timer = *owned;
        timer.async_wait(
            [owned = std::move(owned), f = std::move(f)](const boost::system::error_code &error) mutable {
                if (!error)
                    f();
            });
    }
    void leap(std::uint32_t ticks) {
        ManualClock::present += std::chrono::milliseconds(ticks);
        Timer first(context_, ManualClock::time_point());  // makes the loop look at all timers
        first.async_wait([](const boost::system::error_code &) {});
        context_.restart();
        context_.poll();
    }

  private:
    asio::io_context context_{BOOST_ASIO_CONCURRENCY_HINT_UNSAFE};
};

const bench::Module module{BOOST_LIB_VERSION, "basic_waitable_timer on a manual clock, poll", true,
                           bench::run_spawn<Loop>};

}  // namespace

const bench::Module *bench::tickwheel_bench_module() { return &module; }
