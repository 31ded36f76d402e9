// Other libraries' timers, stopped and started by one thread and by two. Go and Erlang run as programs of
// their own, which `./dev bench --workload peers` builds.
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "scaling.h"
#include "service.h"

namespace bench::scaling {

namespace {

namespace asio = boost::asio;

// --- this library --------------------------------------------------------------------------

double measure_own(std::size_t threads, double seconds) {
    Service service(Lanes::usual);
    return make_calls(threads, seconds,
                      [&](std::size_t thread) {
                          std::vector<tw_handle> handles(pending_timers / threads);
                          Random random(thread);
                          for (tw_handle &each : handles)
                              each = service.start(far_delay(random));
                          return [&service, random, handles = std::move(handles)]() mutable {
                              tw_handle &any =
                                  handles[random.below(static_cast<std::uint32_t>(handles.size()))];
                              require(tw_timer_cancel(service.timers(), any) == 1, "tw_timer_cancel");
                              any = service.start(far_delay(random));
                          };
                      })
        .millions_a_second;
}

// --- Boost.Asio ----------------------------------------------------------------------------

// The timers of one thread. A stopped wait still completes: on the thread that runs the context, which is
// another one if threads share it.
class AsioTimers {
  public:
    AsioTimers(asio::io_context &context, std::size_t timers, std::size_t seed) : random_(seed) {
        timers_.reserve(timers);
        for (std::size_t i = 0; i < timers; ++i)
            start(timers_.emplace_back(context));
    }

    void stop_and_start() {
        asio::steady_timer &any = timers_[random_.below(static_cast<std::uint32_t>(timers_.size()))];
        any.cancel();
        start(any);
    }

  private:
    void start(asio::steady_timer &timer) {
        timer.expires_after(std::chrono::nanoseconds(far_delay(random_)));
        timer.async_wait([](const boost::system::error_code &error) {
            require(error == asio::error::operation_aborted, "a timer fired that is not due");
        });
    }

    Random random_;
    std::vector<asio::steady_timer> timers_;
};

double measure_shared_context(std::size_t threads, double seconds) {
    asio::io_context context;
    const auto guard = asio::make_work_guard(context);
    std::thread runner([&] { context.run(); });
    std::vector<std::unique_ptr<AsioTimers>> all(threads);
    const Calls calls = make_calls(threads, seconds, [&](std::size_t thread) {
        all[thread] = std::make_unique<AsioTimers>(context, pending_timers / threads, thread);
        return [own = all[thread].get()] { own->stop_and_start(); };
    });
    context.stop();
    runner.join();
    return calls.millions_a_second;
}

// Each thread has its own context, and polls it after every 64 calls.
double measure_own_contexts(std::size_t threads, double seconds) {
    struct Loop {
        explicit Loop(std::size_t threads, std::size_t thread)
            : timers(context, pending_timers / threads, thread) {}
        asio::io_context context{1};
        AsioTimers timers;
        unsigned calls = 0;
    };
    std::vector<std::unique_ptr<Loop>> loops(threads);
    return make_calls(threads, seconds,
                      [&](std::size_t thread) {
                          loops[thread] = std::make_unique<Loop>(threads, thread);
                          return [&loop = *loops[thread]] {
                              loop.timers.stop_and_start();
                              if (++loop.calls % 64 == 0)
                                  loop.context.poll();
                          };
                      })
        .millions_a_second;
}

// --- programs ------------------------------------------------------------------------------

// The command is in the environment; the program prints one number.
double measure_program(const char *variable, std::size_t threads, double seconds) {
    const char *const command = std::getenv(variable);
    require(command != nullptr, variable);
    const std::string whole = std::string(command) + ' ' + std::to_string(threads) + ' ' +
                              std::to_string(seconds < 1 ? 1 : static_cast<int>(seconds)) + ' ' +
                              std::to_string(pending_timers);
    FILE *const output = popen(whole.c_str(), "r");
    require(output != nullptr, whole.c_str());
    double millions = 0;
    const bool is_complete = std::fscanf(output, "%lf", &millions) == 1;
    require(pclose(output) == 0 && is_complete, whole.c_str());
    return millions;
}

}  // namespace

Comparison peers() {
    Comparison made;
    made.name = "peers";
    made.meaning = "threads stop and start random ones of n timers, each its own";
    made.n = pending_timers;
    made.units = {"M pairs/s"};
    auto add = [&](const std::string &name, auto measure) {
        for (const std::size_t threads : {1, 2})
            made.variants.push_back(
                {name + (threads == 1 ? "-one" : "-two"),
                 [measure, threads](double seconds) { return std::vector{measure(threads, seconds)}; }});
        made.ratios.push_back({name + ", two threads compared with one", name + "-two", name + "-one"});
        if (name != "tickwheel")
            made.ratios.push_back(
                {"tickwheel compared with " + name + ", two threads", "tickwheel-two", name + "-two"});
    };
    add("tickwheel", measure_own);
    add("asio-shared", measure_shared_context);
    add("asio-each-its-own", measure_own_contexts);
    for (const auto &[name, variable] :
         {std::pair{"go", "TICKWHEEL_PEER_GO"}, {"erlang", "TICKWHEEL_PEER_ERLANG"}})
        if (std::getenv(variable) != nullptr)
            add(name, [variable = variable](std::size_t threads, double seconds) {
                return measure_program(variable, threads, seconds);
            });
    return made;
}

}  // namespace bench::scaling
