// Coroutines and awaitables like those of users' libraries.
#pragma once

#include <coroutine>
#include <exception>
#include <mutex>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>
#include <variant>

// A coroutine that begins at once and frees its frame at its end. Nothing waits for it.
struct detached {
    struct promise_type {
        detached get_return_object() { return {}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() { std::terminate(); }
    };
};

// A coroutine that begins when it is awaited, and owns its frame. It resumes its awaiter by symmetric
// transfer. T may be void.
template <class T> class lazy {
    struct nothing {};
    using stored = std::conditional_t<std::is_void_v<T>, nothing, T>;

    struct basic_promise {
        std::coroutine_handle<> waiting;
        std::variant<std::monostate, stored, std::exception_ptr> end;

        struct at_end {
            bool await_ready() const noexcept { return false; }
            template <class Promise>
            std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> ended) const noexcept {
                return ended.promise().waiting;
            }
            void await_resume() const noexcept {}
        };
        std::suspend_always initial_suspend() const noexcept { return {}; }
        at_end final_suspend() const noexcept { return {}; }
        void unhandled_exception() { end.template emplace<2>(std::current_exception()); }
    };
    struct value_promise : basic_promise {
        template <class Value> void return_value(Value &&value) {
            this->end.template emplace<1>(std::forward<Value>(value));
        }
    };
    struct void_promise : basic_promise {
        void return_void() { this->end.template emplace<1>(); }
    };

  public:
    struct promise_type : std::conditional_t<std::is_void_v<T>, void_promise, value_promise> {
        lazy get_return_object() { return lazy(std::coroutine_handle<promise_type>::from_promise(*this)); }
    };

    lazy(lazy &&from) noexcept : frame_(std::exchange(from.frame_, nullptr)) {}
    lazy &operator=(lazy &&) = delete;
    ~lazy() {
        if (frame_)
            frame_.destroy();
    }

    auto operator co_await() &&noexcept {
        struct awaiter {
            std::coroutine_handle<promise_type> frame;
            bool await_ready() const noexcept { return false; }
            std::coroutine_handle<> await_suspend(std::coroutine_handle<> waiting) const noexcept {
                frame.promise().waiting = waiting;
                return frame;
            }
            T await_resume() const {
                auto &end = frame.promise().end;
                if (end.index() == 2)
                    std::rethrow_exception(std::get<2>(end));
                if constexpr (!std::is_void_v<T>)
                    return std::move(std::get<1>(end));
            }
        };
        return awaiter{frame_};
    }

  private:
    explicit lazy(std::coroutine_handle<promise_type> frame) : frame_(frame) {}
    std::coroutine_handle<promise_type> frame_;
};

// A value that another coroutine or thread brings once. The receiver resumes in the call of `bring`, or
// without a value in request_stop, whichever comes first.
class parcel {
  public:
    // Returns false if the receiver was stopped first.
    bool bring(int value) { return end(value); }

    class receiver {
      public:
        receiver(parcel &of, std::stop_token token) : of_(of), token_(std::move(token)) {}
        receiver(const receiver &) = delete;
        receiver &operator=(const receiver &) = delete;
        bool await_ready() const noexcept { return false; }
        bool await_suspend(std::coroutine_handle<> waiting) {
            on_stop_.emplace(token_, stopped{of_});
            const std::lock_guard hold(of_.mutex_);
            if (of_.is_over_)
                return false;
            of_.waiting_ = waiting;
            return true;
        }
        std::optional<int> await_resume() {
            on_stop_.reset();
            const std::lock_guard hold(of_.mutex_);
            return of_.value_;
        }

      private:
        struct stopped {
            parcel &of;
            void operator()() const { of.end(std::nullopt); }
        };
        parcel &of_;
        std::stop_token token_;
        std::optional<std::stop_callback<stopped>> on_stop_;
    };
    receiver receive(std::stop_token token) { return {*this, std::move(token)}; }

  private:
    bool end(std::optional<int> value) {
        std::coroutine_handle<> waiting;
        {
            const std::lock_guard hold(mutex_);
            if (std::exchange(is_over_, true))
                return false;
            value_ = value;
            waiting = std::exchange(waiting_, nullptr);
        }
        if (waiting)
            waiting.resume();  // may destroy *this
        return true;
    }

    std::mutex mutex_;
    bool is_over_ = false;
    std::optional<int> value_;
    std::coroutine_handle<> waiting_;
};
