// Boost.Asio, as fast as it can go: no locks, no type-erased executor, absolute deadlines (no
// clock read per call). A cancelled wait still completes, so the module runs the completions in
// batches. Otherwise they would pile up.
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/version.hpp>

#include "../workloads.h"

namespace {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;
using Timer = asio::basic_waitable_timer<Clock, asio::wait_traits<Clock>, asio::io_context::executor_type>;

class Asio {
  public:
    using Time = Clock::time_point;
    using Record = Timer;
    static constexpr bool virtual_time = false;

    Asio(std::size_t n, bench::Scale scale)
        : context_(BOOST_ASIO_CONCURRENCY_HINT_UNSAFE), scale_(scale), start_(Clock::now() + scale.ahead),
          n_(n), timers_(static_cast<Timer *>(bench::fresh_memory(n * sizeof(Timer)))) {
        for (std::size_t i = 0; i < n; ++i)
            new (&timers_[i]) Timer(context_);
    }
    ~Asio() {
        for (std::size_t i = 0; i < n_; ++i)
            timers_[i].~Timer();
    }
    Asio(const Asio &) = delete;
    Asio &operator=(const Asio &) = delete;

    Time time(std::uint64_t tick) const { return start_ + scale_.tick * static_cast<std::int64_t>(tick); }
    Time timeout(std::uint64_t tick) const { return time(tick); }
    std::uint64_t fired() const { return fired_; }

    void arm(std::uint32_t i, Time at) {
        timers_[i].expires_at(at);
        timers_[i].async_wait(Count{&fired_});
    }
    void move(std::uint32_t i, Time at) {
        arm(i, at);
        run_cancelled();
    }
    void postpone(std::uint32_t i, Time at) { move(i, at); }
    void cancel(std::uint32_t i) {
        timers_[i].cancel();
        run_cancelled();
    }
    void every(std::uint32_t i, std::uint32_t period) {
        timers_[i].expires_at(time(period));
        timers_[i].async_wait(CountAndRepeat{&fired_, &timers_[i], scale_.tick * period});
    }

    template <class Work> void inside(Work &&work) { work(); }
    void dispatch() {
        context_.restart();
        context_.poll();
    }
    void wait() { context_.run_one(); }

  private:
    struct Count {
        std::uint64_t *fired;
        void operator()(const boost::system::error_code &error) const { *fired += !error; }
    };
    struct CountAndRepeat {
        std::uint64_t *fired;
        Timer *timer;
        Clock::duration period;
        void operator()(const boost::system::error_code &error) const {
            if (error)
                return;
            ++*fired;
            timer->expires_at(timer->expiry() + period);
            timer->async_wait(*this);
        }
    };

    void run_cancelled() {
        if (++cancelled_ < 64)
            return;
        cancelled_ = 0;
        dispatch();
    }

    asio::io_context context_;
    bench::Scale scale_;
    Clock::time_point start_;
    std::size_t n_;
    Timer *timers_;
    unsigned cancelled_ = 0;
    std::uint64_t fired_ = 0;
};

const bench::Module module{BOOST_LIB_VERSION, "expires_at", false, bench::run<Asio>};

}  // namespace

const bench::Module *bench::tickwheel_bench_module() { return &module; }
