// Shared by the tests of the C++ interface.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <coroutine>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include <tickwheel/tickwheel.hpp>

using namespace std::chrono_literals;

// Generous: only a broken test waits this long.
inline constexpr auto patience = 60s;

// Not inlined, so that each call reads the thread's id: the compiler treats std::this_thread::get_id as
// constant within a function, even in a coroutine, which may resume on another thread.
[[gnu::noinline]] inline std::thread::id thread_here() {
    asm volatile("" ::: "memory");
    return std::this_thread::get_id();
}

// Opens once; any thread can wait for that.
class gate {
  public:
    void open() {
        const std::lock_guard hold(mutex_);
        is_open_ = true;
        changed_.notify_all();
    }
    bool wait() {
        std::unique_lock hold(mutex_);
        return changed_.wait_for(hold, patience, [this] { return is_open_; });
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool is_open_ = false;
};

template <class Condition> bool eventually(Condition holds) {
    const auto end = std::chrono::steady_clock::now() + patience;
    while (!holds()) {
        if (std::chrono::steady_clock::now() > end)
            return false;
        std::this_thread::yield();
    }
    return true;
}

// Returns the code of the system_error that `what` throws, or success if it does not throw.
template <class What> std::error_code error_of(What what) {
    try {
        what();
    } catch (const std::system_error &error) {
        return error.code();
    }
    return {};
}

// A coroutine that starts at once; its frame lives as long as this object.
class job {
  public:
    struct promise_type {
        std::exception_ptr thrown;

        job get_return_object() { return job(std::coroutine_handle<promise_type>::from_promise(*this)); }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() { thrown = std::current_exception(); }
    };

    job(job &&from) noexcept : handle_(std::exchange(from.handle_, nullptr)) {}
    job &operator=(job &&) = delete;
    ~job() { destroy(); }

    void destroy() {
        if (handle_)
            std::exchange(handle_, nullptr).destroy();
    }
    bool done() const { return handle_.done(); }
    std::error_code error() const {
        return error_of([this] {
            if (handle_.promise().thrown)
                std::rethrow_exception(handle_.promise().thrown);
        });
    }

  private:
    explicit job(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
    std::coroutine_handle<promise_type> handle_;
};

// Records its destruction.
class farewell {
  public:
    explicit farewell(int &count) : count_(&count) {}
    farewell(farewell &&from) noexcept : count_(std::exchange(from.count_, nullptr)) {}
    farewell &operator=(farewell &&) = delete;
    ~farewell() {
        if (count_ != nullptr)
            ++*count_;
    }

  private:
    int *count_;
};
