// A stand-in for stdexec, as small as the tests of senders.hpp allow: the names, the customisation by members
// and the rules of C++26's [exec] and [stoptoken]. Errors are of the type std::exception_ptr, and a sender
// has one signature of values.
#pragma once

#include <concepts>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>

namespace stdexec {

// --- environments and queries

template <class Query, class Value> struct prop {
    [[no_unique_address]] Query name;
    Value value;
    const Value &query(Query) const noexcept { return value; }
};
template <class Query, class Value> prop(Query, Value) -> prop<Query, Value>;

template <class...> struct env {};

struct get_env_t {
    template <class Of> decltype(auto) operator()(const Of &of) const noexcept {
        if constexpr (requires { of.get_env(); })
            return of.get_env();
        else
            return env<>();
    }
};
inline constexpr get_env_t get_env{};
template <class Of> using env_of_t = decltype(get_env(std::declval<Of>()));

// --- stop tokens

// Never stopped.
class never_stop_token {
  public:
    template <class> struct callback_type {
        template <class Callback> explicit callback_type(never_stop_token, Callback &&) noexcept {}
    };
    static constexpr bool stop_possible() noexcept { return false; }
};

template <class Token, class Callback>
using stop_callback_for_t = typename Token::template callback_type<Callback>;

template <class Token>
concept unstoppable_token = requires {
    requires !Token::stop_possible();
};

class inplace_stop_token;
template <class Callback> class inplace_stop_callback;

// The destructor of a callback waits until the callback has returned on another thread; on the thread that is
// running it, the destructor returns at once.
class inplace_stop_source {
  public:
    inplace_stop_source() = default;
    inplace_stop_source(inplace_stop_source &&) = delete;

    inplace_stop_token get_token() const noexcept;

    bool request_stop() noexcept {
        std::unique_lock hold(mutex_);
        if (is_requested_)
            return false;
        requester_ = std::this_thread::get_id();
        is_requested_ = true;
        while (first_ != nullptr) {
            running_ = std::exchange(first_, first_->next);
            if (first_ != nullptr)
                first_->previous = nullptr;
            running_->is_listed = false;
            hold.unlock();
            running_->call();  // may destroy the callback
            hold.lock();
            running_ = nullptr;
            has_returned_.notify_all();
        }
        return true;
    }

  private:
    template <class> friend class inplace_stop_callback;

    struct callback {
        virtual void call() noexcept = 0;
        callback *next = nullptr, *previous = nullptr;
        bool is_listed = false;

      protected:
        ~callback() = default;
    };

    bool add(callback &added) const noexcept {
        const std::lock_guard hold(mutex_);
        if (is_requested_)
            return false;
        added.next = first_;
        if (first_ != nullptr)
            first_->previous = &added;
        first_ = &added;
        added.is_listed = true;
        return true;
    }

    void remove(callback &removed) const noexcept {
        std::unique_lock hold(mutex_);
        if (removed.is_listed) {
            (removed.previous != nullptr ? removed.previous->next : first_) = removed.next;
            if (removed.next != nullptr)
                removed.next->previous = removed.previous;
        } else if (requester_ != std::this_thread::get_id()) {
            has_returned_.wait(hold, [&] { return running_ != &removed; });
        }
    }

    mutable std::mutex mutex_;
    mutable std::condition_variable has_returned_;
    mutable callback *first_ = nullptr;
    callback *running_ = nullptr;
    std::thread::id requester_;
    bool is_requested_ = false;
};

class inplace_stop_token {
  public:
    template <class Callback> using callback_type = inplace_stop_callback<Callback>;

    inplace_stop_token() = default;

  private:
    friend inplace_stop_source;
    template <class> friend class inplace_stop_callback;
    explicit inplace_stop_token(const inplace_stop_source *of) : of_(of) {}
    const inplace_stop_source *of_ = nullptr;
};

inline inplace_stop_token inplace_stop_source::get_token() const noexcept { return inplace_stop_token(this); }

template <class Callback> class inplace_stop_callback : inplace_stop_source::callback {
  public:
    template <class From>
    explicit inplace_stop_callback(inplace_stop_token token, From &&from)
        : of_(token.of_), callback_(std::forward<From>(from)) {
        if (of_ != nullptr && !of_->add(*this)) {
            of_ = nullptr;
            call();
        }
    }
    inplace_stop_callback(inplace_stop_callback &&) = delete;
    ~inplace_stop_callback() {
        if (of_ != nullptr)
            of_->remove(*this);
    }

  private:
    void call() noexcept override { callback_(); }
    const inplace_stop_source *of_;
    Callback callback_;
};

struct get_stop_token_t {
    template <class Env> auto operator()(const Env &of) const noexcept {
        if constexpr (requires { of.query(*this); })
            return of.query(*this);
        else
            return never_stop_token();
    }
};
inline constexpr get_stop_token_t get_stop_token{};
template <class Env>
using stop_token_of_t = std::remove_cvref_t<decltype(get_stop_token(std::declval<Env>()))>;

// --- completions

struct set_value_t {
    template <class Receiver, class... Values>
    requires(!std::is_reference_v<Receiver>) void operator()(Receiver &&to,
                                                             Values &&...values) const noexcept {
        static_assert(noexcept(std::move(to).set_value(std::forward<Values>(values)...)));
        std::move(to).set_value(std::forward<Values>(values)...);
    }
};
struct set_error_t {
    template <class Receiver, class Error>
    requires(!std::is_reference_v<Receiver>) void operator()(Receiver &&to, Error &&error) const noexcept {
        static_assert(noexcept(std::move(to).set_error(std::forward<Error>(error))));
        std::move(to).set_error(std::forward<Error>(error));
    }
};
struct set_stopped_t {
    template <class Receiver>
    requires(!std::is_reference_v<Receiver>) void operator()(Receiver &&to) const noexcept {
        static_assert(noexcept(std::move(to).set_stopped()));
        std::move(to).set_stopped();
    }
};
inline constexpr set_value_t set_value{};
inline constexpr set_error_t set_error{};
inline constexpr set_stopped_t set_stopped{};

template <class Completion> struct get_completion_scheduler_t {
    template <class Env> auto operator()(const Env &of) const noexcept { return of.query(*this); }
};
template <class Completion>
inline constexpr get_completion_scheduler_t<Completion> get_completion_scheduler{};

template <class...> struct completion_signatures {};

template <class Sender, class... Env> consteval auto get_completion_signatures() {
    return std::remove_cvref_t<Sender>::template get_completion_signatures<Sender, Env...>();
}
template <class Sender> using signatures_of = decltype(get_completion_signatures<Sender, env<>>());

// The tuple of the values that a sender completes with.
template <class Signatures> struct values_in;
template <class... Values, class... Others>
struct values_in<completion_signatures<set_value_t(Values...), Others...>> {
    using type = std::tuple<std::decay_t<Values>...>;
};
template <class Sender> using values_of = typename values_in<signatures_of<Sender>>::type;

// --- concepts and their operations

struct sender_tag {};
struct receiver_tag {};
struct operation_state_tag {};
struct scheduler_tag {};

template <class S>
concept sender = std::derived_from<typename std::remove_cvref_t<S>::sender_concept, sender_tag> &&
    std::move_constructible<std::remove_cvref_t<S>> && std::constructible_from<std::remove_cvref_t<S>, S>;

template <class R>
concept receiver = std::derived_from<typename std::remove_cvref_t<R>::receiver_concept, receiver_tag> &&
    std::move_constructible<std::remove_cvref_t<R>> && std::constructible_from<std::remove_cvref_t<R>, R>;

template <class O>
concept operation_state = std::derived_from<typename O::operation_state_concept, operation_state_tag> &&
    requires(O &o) {
    { o.start() }
    noexcept;
};

struct connect_t {
    template <sender Sender, receiver Receiver>
    operation_state auto operator()(Sender &&from, Receiver &&to) const
        noexcept(noexcept(std::forward<Sender>(from).connect(std::forward<Receiver>(to)))) {
        return std::forward<Sender>(from).connect(std::forward<Receiver>(to));
    }
};
inline constexpr connect_t connect{};
template <class Sender, class Receiver>
using connect_result_t = decltype(connect(std::declval<Sender>(), std::declval<Receiver>()));

struct start_t {
    template <operation_state Operation> void operator()(Operation &of) const noexcept { of.start(); }
};
inline constexpr start_t start{};

struct schedule_t {
    template <class Scheduler> sender auto operator()(Scheduler &&on) const {
        return std::forward<Scheduler>(on).schedule();
    }
};
inline constexpr schedule_t schedule{};

template <class S>
concept scheduler = std::derived_from<typename std::remove_cvref_t<S>::scheduler_concept, scheduler_tag> &&
    std::equality_comparable<std::remove_cvref_t<S>> && std::copyable<std::remove_cvref_t<S>> &&
    requires(S &&s) {
    { schedule(std::forward<S>(s)) } -> sender;
    {
        get_completion_scheduler<set_value_t>(get_env(schedule(std::forward<S>(s))))
        } -> std::same_as<std::remove_cvref_t<S>>;
};

// --- algorithms

// then(f) and let_value(f) are applied to a sender by |.
template <class F, template <class, class> class Result> struct adaptor {
    F f;
    template <sender Sender> friend auto operator|(Sender &&from, adaptor adapt) {
        return Result<std::decay_t<Sender>, F>{std::forward<Sender>(from), std::move(adapt.f)};
    }
};

template <class R> struct value_signature { using type = set_value_t(R); };
template <> struct value_signature<void> { using type = set_value_t(); };

template <class From, class F> struct then_sender {
    using sender_concept = sender_tag;
    From from;
    F f;

    template <class Receiver> struct then_receiver {
        using receiver_concept = receiver_tag;
        F f;
        Receiver to;

        template <class... Values> void set_value(Values &&...values) noexcept {
            try {
                if constexpr (std::is_void_v<std::invoke_result_t<F, Values...>>) {
                    std::invoke(std::move(f), std::forward<Values>(values)...);
                    stdexec::set_value(std::move(to));
                } else {
                    stdexec::set_value(std::move(to),
                                       std::invoke(std::move(f), std::forward<Values>(values)...));
                }
            } catch (...) {
                stdexec::set_error(std::move(to), std::current_exception());
            }
        }
        void set_error(std::exception_ptr error) noexcept {
            stdexec::set_error(std::move(to), std::move(error));
        }
        void set_stopped() noexcept { stdexec::set_stopped(std::move(to)); }
        env_of_t<Receiver> get_env() const noexcept { return stdexec::get_env(to); }
    };

    template <class, class...> static consteval auto get_completion_signatures() {
        using result = decltype(std::apply(std::declval<F>(), std::declval<values_of<From>>()));
        return completion_signatures<typename value_signature<result>::type, set_error_t(std::exception_ptr),
                                     set_stopped_t()>();
    }
    template <class Receiver> auto connect(Receiver to) && {
        return stdexec::connect(std::move(from), then_receiver<Receiver>{std::move(f), std::move(to)});
    }
};
template <class F> auto then(F f) { return adaptor<F, then_sender>{std::move(f)}; }

// Makes a movable result out of one that is not: emplace(make_by{f}) constructs f() in place.
template <class F> struct make_by {
    F f;
    operator std::invoke_result_t<F>() && { return std::move(f)(); }
};
template <class F> make_by(F) -> make_by<F>;

template <class From, class F> struct let_value_sender {
    using sender_concept = sender_tag;
    From from;
    F f;
    using next = decltype(std::apply(std::declval<F>(), std::declval<values_of<From> &>()));

    template <class Receiver> struct operation {
        using operation_state_concept = operation_state_tag;

        struct first_receiver {
            using receiver_concept = receiver_tag;
            operation *of;

            template <class... Values> void set_value(Values &&...values) noexcept {
                operation &self = *of;
                try {
                    self.values.emplace(std::forward<Values>(values)...);
                    self.first.reset();  // destroys *this
                    self.second.emplace(make_by{[&] {
                        return stdexec::connect(std::apply(std::move(self.f), *self.values),
                                                second_receiver{&self});
                    }});
                } catch (...) {
                    stdexec::set_error(std::move(self.to), std::current_exception());
                    return;
                }
                stdexec::start(*self.second);
            }
            void set_error(std::exception_ptr error) noexcept {
                stdexec::set_error(std::move(of->to), error);
            }
            void set_stopped() noexcept { stdexec::set_stopped(std::move(of->to)); }
            env_of_t<Receiver> get_env() const noexcept { return stdexec::get_env(of->to); }
        };
        struct second_receiver {
            using receiver_concept = receiver_tag;
            operation *of;

            template <class... Values> void set_value(Values &&...values) noexcept {
                stdexec::set_value(std::move(of->to), std::forward<Values>(values)...);
            }
            void set_error(std::exception_ptr error) noexcept {
                stdexec::set_error(std::move(of->to), error);
            }
            void set_stopped() noexcept { stdexec::set_stopped(std::move(of->to)); }
            env_of_t<Receiver> get_env() const noexcept { return stdexec::get_env(of->to); }
        };

        F f;
        Receiver to;
        std::optional<values_of<From>> values{};
        std::optional<connect_result_t<From, first_receiver>> first{};
        std::optional<connect_result_t<next, second_receiver>> second{};

        operation(From from, F g, Receiver receiver) : f(std::move(g)), to(std::move(receiver)) {
            first.emplace(make_by{[&] { return stdexec::connect(std::move(from), first_receiver{this}); }});
        }
        operation(operation &&) = delete;
        void start() noexcept { stdexec::start(*first); }
    };

    template <class, class...> static consteval auto get_completion_signatures() {
        return signatures_of<next>();
    }
    template <class Receiver> operation<Receiver> connect(Receiver to) && {
        return {std::move(from), std::move(f), std::move(to)};
    }
};
template <class F> auto let_value(F f) { return adaptor<F, let_value_sender>{std::move(f)}; }

struct sync_wait_t {
    template <class Values> struct state {
        std::mutex mutex;
        std::condition_variable changed;
        bool is_over = false;
        std::optional<Values> values;
        std::exception_ptr error;

        void end() noexcept {
            const std::lock_guard hold(mutex);
            is_over = true;
            changed.notify_all();
        }
    };
    template <class Values> struct waiting {
        using receiver_concept = receiver_tag;
        state<Values> *of;

        template <class... Vs> void set_value(Vs &&...values) noexcept {
            of->values.emplace(std::forward<Vs>(values)...);
            of->end();
        }
        void set_error(std::exception_ptr error) noexcept {
            of->error = std::move(error);
            of->end();
        }
        void set_stopped() noexcept { of->end(); }
    };

    template <sender Sender> auto operator()(Sender &&from) const {
        using values = values_of<Sender>;
        state<values> ends;
        auto operation = connect(std::forward<Sender>(from), waiting<values>{&ends});
        start(operation);
        std::unique_lock hold(ends.mutex);
        ends.changed.wait(hold, [&] { return ends.is_over; });
        if (ends.error)
            std::rethrow_exception(ends.error);
        return std::move(ends.values);
    }
};
inline constexpr sync_wait_t sync_wait{};

}  // namespace stdexec
