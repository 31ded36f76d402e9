// tickwheel/durable/members.hpp - the members of a database and the tallies of its jobs, as visitors receive
// them. See durable.hpp.
#include <tickwheel/cplusplus.hpp>
#if defined(TICKWHEEL_CPLUSPLUS_20) && !defined(TICKWHEEL_DURABLE_MEMBERS_HPP)
#define TICKWHEEL_DURABLE_MEMBERS_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <tickwheel/durable.h>
#include <tickwheel/durable/jobs.hpp>

namespace tickwheel {

// A process that handles jobs, during a visit. See struct tw_durable_member.
class durable_member {
  public:
    explicit durable_member(const tw_durable_member &member)
        : member_(member), kinds_(member.kinds, member.kinds + member.kinds_count) {}
    durable_member(const durable_member &) = delete;
    durable_member &operator=(const durable_member &) = delete;

    [[nodiscard]] std::int64_t id() const noexcept { return member_.id; }
    [[nodiscard]] std::string_view name() const noexcept { return member_.name; }
    [[nodiscard]] std::optional<durable_time> joined() const noexcept {  // nothing: not known
        return member_.joined_ns != 0 ? std::optional(detail::durable_time_of(member_.joined_ns))
                                      : std::nullopt;
    }
    [[nodiscard]] durable_time lease_end() const noexcept {
        return detail::durable_time_of(member_.lease_end_ns);
    }
    [[nodiscard]] bool dead() const noexcept { return member_.dead != 0; }
    [[nodiscard]] std::uint64_t held() const noexcept { return member_.held; }
    [[nodiscard]] std::uint64_t started() const noexcept { return member_.started; }
    [[nodiscard]] bool knows_kinds() const noexcept { return member_.knows_kinds != 0; }
    [[nodiscard]] std::span<const std::string_view> kinds() const noexcept { return kinds_; }
    [[nodiscard]] std::chrono::nanoseconds clock_offset() const noexcept {
        return std::chrono::nanoseconds(member_.clock_offset_ns);
    }

    [[nodiscard]] const tw_durable_member &native() const noexcept { return member_; }

  private:
    const tw_durable_member &member_;
    const std::vector<std::string_view> kinds_;
};

// How many jobs of one kind there are, during a visit. See struct tw_durable_tally.
class durable_tally {
  public:
    durable_tally(const tw_durable_tally &tally, std::size_t times) noexcept : tally_(tally), times_(times) {}
    durable_tally(const durable_tally &) = delete;
    durable_tally &operator=(const durable_tally &) = delete;

    [[nodiscard]] std::string_view kind() const noexcept { return tally_.kind; }
    [[nodiscard]] std::uint64_t held() const noexcept { return tally_.held; }
    [[nodiscard]] std::uint64_t started() const noexcept { return tally_.started; }
    [[nodiscard]] std::uint64_t failed() const noexcept { return tally_.failed; }
    [[nodiscard]] std::uint64_t given_up() const noexcept { return tally_.given_up; }
    [[nodiscard]] std::uint64_t waiting() const noexcept { return tally_.waiting; }

    // When the first pending job is ready; nothing: none is pending.
    [[nodiscard]] std::optional<durable_time> first_ready() const noexcept {
        return tally_.first_ready_ns != TW_NO_DEADLINE
                   ? std::optional(detail::durable_time_of(tally_.first_ready_ns))
                   : std::nullopt;
    }

    // Pending jobs that are ready before each of the times, and not before the time that precedes it. The
    // last element has those that are ready later.
    [[nodiscard]] std::span<const std::uint64_t> pending() const noexcept {
        return {tally_.pending, times_ + 1};
    }

    [[nodiscard]] const tw_durable_tally &native() const noexcept { return tally_; }

  private:
    const tw_durable_tally &tally_;
    const std::size_t times_;
};

}  // namespace tickwheel

#endif
