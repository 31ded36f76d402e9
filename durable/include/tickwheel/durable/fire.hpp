// tickwheel/durable/fire.hpp - fires of durable timers, and the answers to them. See durable.hpp.
#include <tickwheel/cplusplus.hpp>
#if defined(TICKWHEEL_CPLUSPLUS_20) && !defined(TICKWHEEL_DURABLE_FIRE_HPP)
#define TICKWHEEL_DURABLE_FIRE_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <tickwheel/chrono.hpp>
#include <tickwheel/durable.h>
#include <tickwheel/durable/jobs.hpp>

namespace tickwheel {

// A handler's answer: made by the functions of durable_fire.
class durable_answer {
  public:
    [[nodiscard]] tw_durable_answer native() const noexcept { return answer_; }

  private:
    friend class durable_fire;
    explicit durable_answer(tw_durable_answer answer) noexcept : answer_(answer) {}

    tw_durable_answer answer_;
};

// A fire, as its handler sees it, and the answers to it. Valid until the handler returns. See struct
// tw_durable_fire.
class durable_fire {
  public:
    explicit durable_fire(tw_durable_fire &fire) noexcept : fire_(fire) {}
    durable_fire(const durable_fire &) = delete;
    durable_fire &operator=(const durable_fire &) = delete;

    [[nodiscard]] std::string_view kind() const noexcept { return fire_.kind; }
    [[nodiscard]] std::string_view key() const noexcept { return fire_.key; }
    [[nodiscard]] std::string_view payload() const noexcept {
        return detail::bytes_of(fire_.payload, fire_.size);
    }
    [[nodiscard]] std::span<const std::byte> bytes() const noexcept {
        return {static_cast<const std::byte *>(fire_.payload), fire_.size};
    }
    [[nodiscard]] durable_time due() const noexcept { return detail::durable_time_of(fire_.due_ns); }
    [[nodiscard]] std::uint64_t overruns() const noexcept { return fire_.overruns; }
    [[nodiscard]] std::uint32_t attempt() const noexcept { return fire_.attempt; }
    [[nodiscard]] std::int64_t token() const noexcept { return fire_.token; }

    // For how much longer no other process can take over this job. See tw_durable_lease.
    [[nodiscard]] std::chrono::nanoseconds lease() const noexcept {
        return std::chrono::nanoseconds(tw_durable_lease(&fire_));
    }

    // The job ends, or waits for its next due time.
    // NOLINTNEXTLINE(readability-convert-member-functions-to-static): as the other answers
    [[nodiscard]] durable_answer done() const noexcept { return durable_answer(TW_DURABLE_DONE); }

    // The job must fire once more for this due time, `delay` from now. This does not count as a
    // failure. Throws std::system_error (invalid_argument) if the delay is negative or not a
    // number.
    template <class Rep, class Period>
    [[nodiscard]] durable_answer again(std::chrono::duration<Rep, Period> delay) {
        return durable_answer(tw_durable_again(&fire_, detail::delay_in(delay)));
    }

    // The try has failed; the handler's options say when the job is tried again. The reason is for people to
    // read.
    [[nodiscard]] durable_answer failed(std::string_view why) { return failed(std::string(why).c_str()); }
    [[nodiscard]] durable_answer failed(const char *why) noexcept {
        return durable_answer(tw_durable_failed(&fire_, why));
    }

  private:
    tw_durable_fire &fire_;
};

}  // namespace tickwheel

#endif
