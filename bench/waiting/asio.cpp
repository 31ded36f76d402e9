// Boost.Asio: absolute deadlines of the steady clock. Internally it sets a timerfd in
// microseconds from now.
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/version.hpp>

#include "../waiting.h"

namespace {

namespace asio = boost::asio;
using std::chrono::nanoseconds;
using std::chrono::steady_clock;

class Asio {
  public:
    Asio(bench::Listener &listener, std::size_t pending)
        : listener_(listener), always_there_(context_.get_executor()), timer_(context_) {
        bench::FarDelays delays;
        timers_.reserve(pending);
        for (std::size_t i = 0; i < pending; ++i) {
            timers_.emplace_back(context_, nanoseconds(delays.next_ns()));
            timers_.back().async_wait([](const boost::system::error_code &) {});
        }
    }

    void at(std::int64_t deadline_ns) {
        timer_.expires_at(steady_clock::time_point(nanoseconds(deadline_ns)));
        timer_.async_wait([this](const boost::system::error_code &error) {
            if (!error)
                listener_.fired();
        });
    }
    void run() { context_.run(); }
    void stop() { context_.stop(); }

  private:
    bench::Listener &listener_;
    asio::io_context context_{1};
    asio::executor_work_guard<asio::io_context::executor_type> always_there_;
    asio::steady_timer timer_;
    std::vector<asio::steady_timer> timers_;
};

const bench::Module module{BOOST_LIB_VERSION, "steady_timer, expires_at", false, bench::run_waiting<Asio>};

}  // namespace

const bench::Module *bench::tickwheel_bench_module() { return &module; }
