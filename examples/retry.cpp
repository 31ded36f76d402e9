// Coroutines that retry requests with exponential back-off.
//
//     tickwheel_retry            takes five seconds
//     tickwheel_retry virtual    the same on virtual time, at once
//
// Each request is a coroutine that reads like a loop. While it sleeps in co_await no thread waits,
// and nothing is allocated. A stop request ends the sleep early. The client does not know whether its
// runtime is on virtual time.
#include <algorithm>
#include <chrono>
#include <coroutine>
#include <cstdio>
#include <exception>
#include <random>
#include <stop_token>
#include <thread>
#include <utility>

#include <tickwheel/tickwheel.hpp>

using namespace std::chrono_literals;
using std::chrono::milliseconds;

namespace {

// A coroutine that starts at once. The task owns the coroutine's frame.
class task {
  public:
    struct promise_type {
        task get_return_object() { return task(std::coroutine_handle<promise_type>::from_promise(*this)); }
        static std::suspend_never initial_suspend() noexcept { return {}; }
        static std::suspend_always final_suspend() noexcept { return {}; }
        void return_void() {}
        static void unhandled_exception() { std::terminate(); }
    };
    task(task &&from) noexcept : frame_(std::exchange(from.frame_, nullptr)) {}
    task &operator=(task &&) = delete;
    ~task() {
        if (frame_)
            frame_.destroy();
    }

  private:
    explicit task(std::coroutine_handle<promise_type> frame) : frame_(frame) {}
    std::coroutine_handle<promise_type> frame_;
};

// A pause that doubles from 100 ms up to 1 s. Half of the pause is random, so that the clients of a server
// that was down do not all come back at once.
class back_off {
  public:
    explicit back_off(unsigned seed) : random_(seed) {}
    milliseconds next() {
        const auto half = length_ / 2;
        const auto chance = milliseconds(random_() % static_cast<unsigned>(half.count()));
        length_ = std::min(2 * length_, milliseconds(1s));
        return half + chance;
    }

  private:
    milliseconds length_ = 100ms;
    std::minstd_rand random_;
};

class client {
  public:
    explicit client(tickwheel::runtime &rt) : rt_(&rt), begin_(rt.now()) {}

    // A request to a server that is down until `up`.
    // NOLINTNEXTLINE(readability-static-accessed-through-instance) ; the calls are the compiler's
    task fetch(const char *name, unsigned seed, milliseconds up, std::stop_token token) {
        back_off pause(seed);
        for (int attempt = 1; since_begin() < up; ++attempt) {
            const auto length = pause.next();
            say("%s: attempt %d failed, again in %lld ms", name, attempt,
                static_cast<long long>(length.count()));
            if (const bool slept = co_await rt_->sleep_for(length, token); !slept) {
                say("%s: given up", name);
                co_return;
            }
        }
        say("%s: there it is", name);
    }

  private:
    std::chrono::nanoseconds since_begin() const { return rt_->now() - begin_; }
    template <class... Args> void say(const char *format, Args... args) const {
        std::printf("%5.2f s  ", std::chrono::duration<double>(since_begin()).count());
        std::printf(format, args...);
        std::printf("\n");
    }

    tickwheel::runtime *rt_;
    tickwheel::runtime::time_point begin_;
};

template <class LetPass> void retry(tickwheel::runtime &rt, LetPass let_pass) {
    client on(rt);
    std::stop_source patience;
    const task weather = on.fetch("weather", 1, 1500ms, patience.get_token());
    const task news = on.fetch("news", 2, 1h, patience.get_token());
    let_pass(4s);
    patience.request_stop();
    let_pass(1s);
    rt.stop();  // no coroutine resumes while the tasks are destroyed
}

}  // namespace

int main(int argc, char **) try {
    if (argc > 1) {
        tickwheel::virtual_runtime rt;
        retry(rt, [&](auto length) { rt.advance(length); });
    } else {
        tickwheel::runtime rt;
        retry(rt, [](auto length) { std::this_thread::sleep_for(length); });
    }
} catch (const std::exception &failure) {
    std::fprintf(stderr, "retry: %s\n", failure.what());
    return 1;
}
