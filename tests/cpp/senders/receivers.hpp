// Receivers and operations for the tests of senders.hpp.
#pragma once

#include <utility>

#include <tickwheel/senders.hpp>

#include <exec/timed_scheduler.hpp>
#include <exec/when_any.hpp>

// Calls on_end(false) for a value, on_end(true) if the operation was stopped. on_end may destroy the
// operation.
template <class OnEnd, class Token = stdexec::inplace_stop_token> struct ends {
    using receiver_concept = stdexec::receiver_tag;
    OnEnd on_end;
    Token token{};

    void set_value() noexcept { call(false); }
    void set_stopped() noexcept { call(true); }
    auto get_env() const noexcept { return stdexec::prop{stdexec::get_stop_token, token}; }

  private:
    void call(bool stopped) noexcept {
        OnEnd end = std::move(on_end);
        end(stopped);
    }
};
template <class OnEnd> ends(OnEnd) -> ends<OnEnd>;

template <class Sender, class Receiver> class operation {
  public:
    operation(Sender from, Receiver to) : state_(stdexec::connect(std::move(from), std::move(to))) {}
    void start() noexcept { stdexec::start(state_); }

  private:
    stdexec::connect_result_t<Sender, Receiver> state_;
};
