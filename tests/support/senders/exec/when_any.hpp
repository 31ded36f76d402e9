// A stand-in for when_any of stdexec: see stdexec/execution.hpp. All senders have the same signature of
// values.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <optional>
#include <tuple>
#include <utility>

#include "../stdexec/execution.hpp"

namespace exec {

// Starts all senders, and completes as the first of them does, once a stop has ended the others.
template <class First, class... Others> struct when_any_sender {
    using sender_concept = stdexec::sender_tag;
    std::tuple<First, Others...> from;
    using values = stdexec::values_of<First>;

    template <class Receiver> struct operation {
        using operation_state_concept = stdexec::operation_state_tag;

        struct one_receiver {
            using receiver_concept = stdexec::receiver_tag;
            operation *of;

            template <class... Values> void set_value(Values &&...result) noexcept {
                of->end([&] { of->result.emplace(std::forward<Values>(result)...); });
            }
            void set_error(std::exception_ptr error) noexcept {
                of->end([&] { of->error = error; });
            }
            void set_stopped() noexcept {
                of->end([] {});
            }
            stdexec::prop<stdexec::get_stop_token_t, stdexec::inplace_stop_token> get_env() const noexcept {
                return {stdexec::get_stop_token, of->others.get_token()};
            }
        };
        // Counts as a child meanwhile, because the last child may complete inside request_stop, which uses
        // `others`.
        struct pass_on {
            operation *of;
            void operator()() const noexcept {
                ++of->left;
                of->others.request_stop();
                of->arrive();
            }
        };

        Receiver to;
        std::atomic<std::size_t> left{sizeof...(Others) + 2};  // one for start()
        std::atomic<bool> has_ended{false};
        std::optional<values> result{};
        std::exception_ptr error{};
        stdexec::inplace_stop_source others{};
        using token = stdexec::stop_token_of_t<stdexec::env_of_t<Receiver>>;
        std::optional<stdexec::stop_callback_for_t<token, pass_on>> on_stop{};
        std::tuple<stdexec::connect_result_t<First, one_receiver>,
                   stdexec::connect_result_t<Others, one_receiver>...>
            children;

        operation(std::tuple<First, Others...> all, Receiver receiver)
            : to(std::move(receiver)),
              children(std::apply(
                  [this](auto &...one) {
                      return decltype(children)(stdexec::make_by{
                          [&] { return stdexec::connect(std::move(one), one_receiver{this}); }}...);
                  },
                  all)) {}
        operation(operation &&) = delete;

        void start() noexcept {
            on_stop.emplace(stdexec::get_stop_token(stdexec::get_env(to)), pass_on{this});
            std::apply([](auto &...child) { (stdexec::start(child), ...); }, children);
            arrive();
        }

        template <class Store> void end(Store store) noexcept {
            if (!has_ended.exchange(true)) {
                store();
                others.request_stop();
            }
            arrive();
        }
        void arrive() noexcept {
            if (--left != 0)
                return;
            on_stop.reset();
            if (result)
                std::apply([this](auto &...value) { stdexec::set_value(std::move(to), std::move(value)...); },
                           *result);
            else if (error)
                stdexec::set_error(std::move(to), std::move(error));
            else
                stdexec::set_stopped(std::move(to));
        }
    };

    template <class, class...> static consteval auto get_completion_signatures() {
        return stdexec::signatures_of<First>();
    }
    template <class Receiver> operation<Receiver> connect(Receiver to) && {
        return {std::move(from), std::move(to)};
    }
};

struct when_any_t {
    template <stdexec::sender... Senders> auto operator()(Senders &&...all) const {
        return when_any_sender<std::decay_t<Senders>...>{{std::forward<Senders>(all)...}};
    }
};
inline constexpr when_any_t when_any{};

}  // namespace exec
