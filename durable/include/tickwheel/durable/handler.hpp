// tickwheel/durable/handler.hpp - how the library keeps and calls C++ handlers. See durable.hpp.
#include <tickwheel/cplusplus.hpp>
#if defined(TICKWHEEL_CPLUSPLUS_20) && !defined(TICKWHEEL_DURABLE_HANDLER_HPP)
#define TICKWHEEL_DURABLE_HANDLER_HPP

#include <concepts>
#include <coroutine>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <type_traits>
#include <utility>

#include <tickwheel/durable/fire.hpp>
#include <tickwheel/durable/typed.hpp>

namespace tickwheel {

namespace detail {
template <class F> struct stored_durable_callable;
template <class T, class F> struct typed_handler;
}  // namespace detail

// The coroutines that handle a kind: co_return an answer. While the coroutine waits, for example for a sleep
// of tickwheel.hpp, it holds no worker. The fire, the value of a typed kind, and the handler with its
// captures live until the coroutine has ended.
//
//     jobs.handle("parcel", [&](durable_fire &fire) -> tickwheel::durable_task {
//         for (int i = 0; i < 3 && !has_arrived(fire.key()); ++i)
//             co_await pool.sleep_for(1s);  // resumes on a worker of the pool, so it may ask the database
//         co_return has_arrived(fire.key()) ? fire.done() : fire.again(1h);
//     });
//
// The destructor of the `durable` waits for all coroutines, so keep the runtime running until then, and do
// not destroy the `durable` in a coroutine. With `single_thread` the destructor destroys the coroutines
// instead, which must be suspended, and their jobs fire again.
class [[nodiscard]] durable_task {
  public:
    struct promise_type;

    durable_task(durable_task &&from) noexcept : frame_(std::exchange(from.frame_, nullptr)) {}
    durable_task &operator=(durable_task &&) = delete;
    ~durable_task() {
        if (frame_)
            frame_.destroy();
    }

  private:
    template <class> friend struct detail::stored_durable_callable;
    template <class, class> friend struct detail::typed_handler;
    explicit durable_task(std::coroutine_handle<promise_type> frame) noexcept : frame_(frame) {}

    std::coroutine_handle<promise_type> frame_;
};

namespace detail {

// A fire that a coroutine handles.
struct durable_run {
    explicit durable_run(tw_durable_fire &fire) noexcept : native(fire), shown(fire) {}

    tw_durable_fire &native;
    durable_fire shown;
    std::coroutine_handle<> frame;
};

// The fires of a connection that coroutines handle.
class durable_runs {
  public:
    using place = std::list<durable_run>::iterator;

    place add(tw_durable_fire &fire) {
        std::list<durable_run> added;
        added.emplace_back(fire);
        const std::lock_guard hold(mutex_);
        all_.splice(all_.begin(), added);
        return all_.begin();
    }

    void remove(place which) noexcept {
        const std::lock_guard hold(mutex_);
        all_.erase(which);
    }

    // As soon as the answer is given, the connection may close and destroy this object.
    void end(place which, tw_durable_answer answer) noexcept {
        tw_durable_fire &fire = which->native;
        remove(which);
        tw_durable_answer_later(connection, &fire, answer);
    }

    void destroy_all() noexcept {
        std::list<durable_run> rest;
        {
            const std::lock_guard hold(mutex_);
            rest.swap(all_);
        }
        for (const durable_run &each : rest)
            each.frame.destroy();
    }

    tw_durable *connection = nullptr;

  private:
    std::mutex mutex_;
    std::list<durable_run> all_;
};

// The answer for the exception that is being handled.
inline durable_answer answer_to_exception(durable_fire &fire) noexcept {
    try {
        throw;
    } catch (const std::exception &thrown) {
        return fire.failed(thrown.what());
    } catch (...) {
        return fire.failed("the handler has thrown something unknown");
    }
}

}  // namespace detail

struct durable_task::promise_type {
    // A function of its own, because clang before 17 keeps the variables of an inlined await_suspend in the
    // frame, which it has destroyed by then (LLVM's issue 56301).
    struct at_end {
        bool await_ready() const noexcept { return false; }
        void await_suspend(std::coroutine_handle<promise_type> ended) const noexcept { finish(ended); }
        void await_resume() const noexcept {}

        [[gnu::noinline]] static void finish(std::coroutine_handle<promise_type> ended) noexcept {
            const promise_type &promise = ended.promise();
            detail::durable_runs &runs = *promise.runs;
            const detail::durable_runs::place run = promise.run;
            const tw_durable_answer answer = promise.answer;
            ended.destroy();
            runs.end(run, answer);
        }
    };

    durable_task get_return_object() noexcept {
        return durable_task(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    at_end final_suspend() const noexcept { return {}; }
    void return_value(durable_answer given) noexcept { answer = given.native(); }
    void unhandled_exception() noexcept { answer = detail::answer_to_exception(run->shown).native(); }

    std::shared_ptr<const void> value;  // of a typed kind
    detail::durable_runs *runs = nullptr;
    detail::durable_runs::place run;
    tw_durable_answer answer = TW_DURABLE_RETRY;
};

// The callables that handle a kind: f(fire), or f(value, fire) for a typed kind. f returns an answer or
// nothing, which stands for `done`, or is a coroutine. Several workers may call f at the same time.
template <class F, class... Value>
concept durable_handler = std::move_constructible<F> &&
    (std::is_invocable_r_v<durable_answer, F &, const Value &..., durable_fire &> ||
     std::is_void_v<std::invoke_result_t<F &, const Value &..., durable_fire &>> ||
     std::is_same_v<std::invoke_result_t<F &, const Value &..., durable_fire &>, durable_task>);

namespace detail {

// A callable that handles a kind. An exception counts as a failure, and its text as the reason.
struct durable_callable {
    virtual ~durable_callable() = default;
    virtual tw_durable_answer call(tw_durable_fire &native) = 0;

    static tw_durable_answer call_stored(tw_durable_fire *native, void *self) noexcept {
        try {
            return static_cast<durable_callable *>(self)->call(*native);
        } catch (...) {
            durable_fire fire(*native);
            return answer_to_exception(fire).native();
        }
    }
};

template <class F> struct stored_durable_callable final : durable_callable {
    stored_durable_callable(F &&from, durable_runs &of_connection)
        : f(std::move(from)), runs(of_connection) {}

    tw_durable_answer call(tw_durable_fire &native) override {
        using result = std::invoke_result_t<F &, durable_fire &>;
        if constexpr (std::is_same_v<result, durable_task>) {
            begin(native);
            return TW_DURABLE_LATER;
        } else {
            durable_fire fire(native);
            if constexpr (std::is_void_v<result>) {
                std::invoke(f, fire);
                return TW_DURABLE_DONE;
            } else {
                return durable_answer(std::invoke(f, fire)).native();
            }
        }
    }

    void begin(tw_durable_fire &native) {
        const durable_runs::place run = runs.add(native);
        try {
            durable_task task = std::invoke(f, run->shown);
            durable_task::promise_type &promise = task.frame_.promise();
            promise.runs = &runs;
            promise.run = run;
            run->frame = std::exchange(task.frame_, nullptr);
        } catch (...) {
            runs.remove(run);
            throw;
        }
        run->frame.resume();
    }

    F f;
    durable_runs &runs;
};

// Calls a handler of a typed kind.
template <class T, class F> struct typed_handler {
    std::string kind;
    F f;

    auto operator()(durable_fire &fire) {
        if constexpr (std::is_same_v<std::invoke_result_t<F &, const T &, durable_fire &>, durable_task>) {
            auto value = std::make_shared<const T>(durable_kind<T>{kind}.decode(fire.bytes()));
            durable_task task = std::invoke(f, *value, fire);
            task.frame_.promise().value = std::move(value);
            return task;
        } else {
            const T value = durable_kind<T>{kind}.decode(fire.bytes());
            return std::invoke(f, value, fire);
        }
    }
};

}  // namespace detail
}  // namespace tickwheel

#endif
