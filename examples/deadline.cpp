// Coroutines that put a page together from three servers within 500 ms.
//
//     tickwheel_deadline            takes two seconds
//     tickwheel_deadline virtual    the same on virtual time, at once
//
// Each server has 200 ms to answer. A deadline stops the work by its std::stop_token, and co_await returns
// when the work has ended, so no work goes on afterwards.
#include <array>
#include <chrono>
#include <coroutine>
#include <cstdio>
#include <exception>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include <tickwheel/tickwheel.hpp>

using namespace std::chrono_literals;
using std::chrono::milliseconds;

namespace {

constexpr milliseconds for_the_page(500), for_a_server(200);

// A coroutine that begins when it is awaited, and owns its frame.
template <class T> class task {
  public:
    struct promise_type {
        task get_return_object() { return task(std::coroutine_handle<promise_type>::from_promise(*this)); }
        static std::suspend_always initial_suspend() noexcept { return {}; }
        static auto final_suspend() noexcept { return resume_waiting(); }
        void return_value(T value) { result = std::move(value); }
        static void unhandled_exception() { std::terminate(); }

        std::coroutine_handle<> waiting = std::noop_coroutine();
        std::optional<T> result;
    };
    task(task &&from) noexcept : frame_(std::exchange(from.frame_, nullptr)) {}
    task &operator=(task &&) = delete;
    ~task() {
        if (frame_)
            frame_.destroy();
    }

    void start() const { frame_.resume(); }  // for the outermost task, which no coroutine awaits
    bool await_ready() const noexcept { return false; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> waiting) const noexcept {
        frame_.promise().waiting = waiting;
        return frame_;
    }
    T await_resume() const { return std::move(*frame_.promise().result); }

  private:
    struct resume_waiting {
        static bool await_ready() noexcept { return false; }
        static std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> ended) noexcept {
            return ended.promise().waiting;
        }
        static void await_resume() noexcept {}
    };
    explicit task(std::coroutine_handle<promise_type> frame) : frame_(frame) {}
    std::coroutine_handle<promise_type> frame_;
};

// A server that answers after `length`.
struct server {
    const char *name;
    milliseconds length;
};

class page {
  public:
    explicit page(tickwheel::runtime &rt) : rt_(&rt), begin_(rt.now()) {}

    // Returns how many of the three parts there are.
    // NOLINTNEXTLINE(readability-static-accessed-through-instance) ; the calls are the compiler's
    task<int> load(milliseconds weather, milliseconds news, milliseconds stocks) {
        int parts = 0;
        const bool all = co_await rt_->with_timeout(for_the_page, [&](std::stop_token stop) {
            return load_parts(weather, news, stocks, parts, std::move(stop));
        }) == 3;
        say(all ? "the page is complete" : "the page has gaps");
        co_return parts;
    }

  private:
    // NOLINTNEXTLINE(readability-static-accessed-through-instance) ; the calls are the compiler's
    task<int> load_parts(milliseconds weather, milliseconds news, milliseconds stocks, int &parts,
                         std::stop_token stop) {
        for (const server &each : {server{"weather", weather}, {"news", news}, {"stocks", stocks}}) {
            const auto answer = co_await rt_->with_timeout(
                for_a_server, [&](std::stop_token inner) { return ask(each, std::move(inner)); }, stop);
            if (stop.stop_requested())
                break;
            parts += answer ? 1 : 0;
            say(answer ? *answer : std::string(each.name) + " is too slow");
        }
        co_return parts;
    }

    // NOLINTNEXTLINE(readability-static-accessed-through-instance) ; the calls are the compiler's
    task<std::string> ask(server each, std::stop_token stop) {
        const bool answered = co_await rt_->sleep_for(each.length, std::move(stop));
        co_return std::string(each.name) + (answered ? " has come" : " was not waited for");
    }

    void say(const std::string &what) const {
        std::printf("%4.0f ms  %s\n", std::chrono::duration<double, std::milli>(rt_->now() - begin_).count(),
                    what.c_str());
    }

    tickwheel::runtime *rt_;
    tickwheel::runtime::time_point begin_;
};

template <class LetPass> void deadline(tickwheel::runtime &rt, LetPass let_pass) {
    for (const auto &[weather, news, stocks] :
         {std::array{40ms, 90ms, 60ms}, std::array{40ms, 900ms, 60ms}, std::array{190ms, 150ms, 180ms}}) {
        page front(rt);
        const task<int> loading = front.load(weather, news, stocks);
        loading.start();
        let_pass(600ms);
    }
    rt.stop();  // no coroutine resumes while they are destroyed
}

}  // namespace

int main(int argc, char **) try {
    if (argc > 1) {
        tickwheel::virtual_runtime rt;
        deadline(rt, [&](auto length) { rt.advance(length); });
    } else {
        tickwheel::runtime rt;
        deadline(rt, [](auto length) { std::this_thread::sleep_for(length); });
    }
} catch (const std::exception &failure) {
    std::fprintf(stderr, "deadline: %s\n", failure.what());
    return 1;
}
