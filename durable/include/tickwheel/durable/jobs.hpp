// tickwheel/durable/jobs.hpp - jobs to put, filters that select jobs, and the entries that a visitor
// receives. See durable.hpp.
#include <tickwheel/cplusplus.hpp>
#if defined(TICKWHEEL_CPLUSPLUS_20) && !defined(TICKWHEEL_DURABLE_JOBS_HPP)
#define TICKWHEEL_DURABLE_JOBS_HPP

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <vector>

#include <tickwheel/chrono.hpp>
#include <tickwheel/durable.h>

namespace tickwheel {

using durable_time = std::chrono::sys_time<std::chrono::nanoseconds>;

// See the enums of durable.h.
enum class durable_missed {
    coalesce = TW_DURABLE_COALESCE,
    burst = TW_DURABLE_BURST,
    skip = TW_DURABLE_SKIP
};
enum class durable_existing { replace = TW_DURABLE_REPLACE, keep = TW_DURABLE_KEEP };
enum class durable_state : unsigned {
    pending = TW_DURABLE_PENDING,
    held = TW_DURABLE_HELD,
    started = TW_DURABLE_STARTED,
    failed = TW_DURABLE_FAILED,
    given_up = TW_DURABLE_GIVEN_UP,
    waiting = TW_DURABLE_WAITING
};

// Refers to the caller's text or bytes, and is valid as long as they are.
class durable_payload {
  public:
    durable_payload() = default;
    template <class Text>
    requires std::convertible_to<const Text &, std::string_view> durable_payload(const Text &text)
        : bytes_(text) {}
    durable_payload(std::span<const std::byte> bytes)
        : bytes_(reinterpret_cast<const char *>(bytes.data()), bytes.size()) {}

    [[nodiscard]] std::string_view text() const noexcept { return bytes_; }

  private:
    std::string_view bytes_;
};

// A job to put. With kind and key alone it fires once, at once. See struct tw_durable_job. The texts and the
// payload belong to the caller, and must live until `put` has returned.
struct durable_job {
    std::string_view kind{}, key{};
    durable_payload payload{};

    std::chrono::nanoseconds after{0};  // it fires, or fires first, this long after the put
    std::optional<durable_time> at{};   // or at this time

    std::chrono::nanoseconds every{0};  // its period; or a cron expression, in a time zone
    std::string_view cron{}, zone{};
    durable_missed missed = durable_missed::coalesce;
    std::chrono::nanoseconds grace{0};  // 0 stands for 1 s

    // For jobs that fire once.
    std::string_view group{}, waits_for{};
    std::chrono::nanoseconds within{0};
};

// Selects jobs; empty: all. See struct tw_durable_filter.
struct durable_filter {
    std::string_view kind{};
    std::vector<durable_state> states{};
    std::string_view after{};
    std::size_t limit = 0;
    std::string_view after_kind{};
    std::optional<durable_time> ready_before{};  // durable_time::max(): all, in the order of ready time
    std::optional<durable_time> ready_from{};
    std::string_view group{};
};

namespace detail {

inline std::int64_t check_durable(std::int64_t result) {
    if (result < 0)
        throw std::system_error(static_cast<int>(-result), std::generic_category(),
                                tw_durable_explain(static_cast<int>(result)));
    return result;
}

// A text for the C interface.
inline std::string durable_text(std::string_view text) {
    if (text.find('\0') != std::string_view::npos)
        refuse("a name with a zero byte in it");
    return std::string(text);
}

inline durable_time durable_time_of(std::int64_t ns) { return durable_time(std::chrono::nanoseconds(ns)); }

inline std::string_view bytes_of(const void *bytes, std::size_t size) {
    return size != 0 ? std::string_view(static_cast<const char *>(bytes), size) : std::string_view();
}

inline std::string_view text_or_nothing(const char *text) {
    return text != nullptr ? std::string_view(text) : std::string_view();
}

// A job for the C interface, with the texts that it points to.
struct native_job {
    explicit native_job(const durable_job &from)
        : kind(durable_text(from.kind)), key(durable_text(from.key)), cron(durable_text(from.cron)),
          zone(durable_text(from.zone)), group(durable_text(from.group)),
          waits_for(durable_text(from.waits_for)), job{} {
        if (from.at && from.after.count() != 0)
            refuse("the job has a delay and a time");
        const std::string_view bytes = from.payload.text();
        job.payload = bytes.data();
        job.size = bytes.size();
        job.absolute = from.at ? 1 : 0;
        job.due_ns = from.at ? reading_of(*from.at) : from.after.count();
        job.period_ns = from.every.count();
        job.missed = static_cast<tw_durable_missed>(from.missed);
        job.grace_ns = from.grace.count();
        job.within_ns = from.within.count();
    }

    // The result is valid until this object is moved or destroyed.
    tw_durable_job *native() {
        job.kind = kind.c_str();
        job.key = key.c_str();
        job.cron = cron.empty() ? nullptr : cron.c_str();
        job.zone = zone.empty() ? nullptr : zone.c_str();
        job.group = group.empty() ? nullptr : group.c_str();
        job.waits_for = waits_for.empty() ? nullptr : waits_for.c_str();
        return &job;
    }

    std::string kind, key, cron, zone, group, waits_for;
    tw_durable_job job;
};

struct native_filter {
    explicit native_filter(const durable_filter &from)
        : kind(durable_text(from.kind)), after(durable_text(from.after)),
          after_kind(durable_text(from.after_kind)), group(durable_text(from.group)) {
        filter.kind = kind.empty() ? nullptr : kind.c_str();
        filter.after = after.empty() ? nullptr : after.c_str();
        filter.group = group.empty() ? nullptr : group.c_str();
        for (const durable_state state : from.states)
            filter.states |= static_cast<unsigned>(state);
        filter.limit = from.limit;
        filter.after_kind = after_kind.empty() ? nullptr : after_kind.c_str();
        if (from.ready_before)
            filter.ready_before_ns =
                std::max<std::int64_t>(reading_of(*from.ready_before), 1);  // 0: any time
        filter.ready_from_ns = from.ready_from ? reading_of(*from.ready_from) : 0;
    }
    native_filter(const native_filter &) = delete;
    native_filter &operator=(const native_filter &) = delete;

    std::string kind, after, after_kind, group;
    tw_durable_filter filter = {};
};

}  // namespace detail

// A job as the database stores it, during a visit. Missing texts are empty. See struct tw_durable_entry.
class durable_entry {
  public:
    explicit durable_entry(const tw_durable_entry &entry) noexcept : entry_(entry) {}
    durable_entry(const durable_entry &) = delete;
    durable_entry &operator=(const durable_entry &) = delete;

    [[nodiscard]] std::string_view kind() const noexcept { return entry_.job.kind; }
    [[nodiscard]] std::string_view key() const noexcept { return entry_.job.key; }
    [[nodiscard]] std::string_view payload() const noexcept {
        return detail::bytes_of(entry_.job.payload, entry_.job.size);
    }
    [[nodiscard]] std::span<const std::byte> bytes() const noexcept {
        return {static_cast<const std::byte *>(entry_.job.payload), entry_.job.size};
    }
    [[nodiscard]] durable_time due() const noexcept { return detail::durable_time_of(entry_.job.due_ns); }
    [[nodiscard]] durable_time ready() const noexcept { return detail::durable_time_of(entry_.ready_ns); }
    [[nodiscard]] std::chrono::nanoseconds every() const noexcept {
        return std::chrono::nanoseconds(entry_.job.period_ns);
    }
    [[nodiscard]] std::string_view cron() const noexcept { return detail::text_or_nothing(entry_.job.cron); }
    [[nodiscard]] std::string_view zone() const noexcept { return detail::text_or_nothing(entry_.job.zone); }
    [[nodiscard]] durable_missed missed() const noexcept {
        return static_cast<durable_missed>(entry_.job.missed);
    }
    [[nodiscard]] std::chrono::nanoseconds grace() const noexcept {
        return std::chrono::nanoseconds(entry_.job.grace_ns);
    }
    [[nodiscard]] std::string_view group() const noexcept {
        return detail::text_or_nothing(entry_.job.group);
    }
    [[nodiscard]] std::string_view waits_for() const noexcept {
        return detail::text_or_nothing(entry_.job.waits_for);
    }
    [[nodiscard]] durable_state state() const noexcept { return static_cast<durable_state>(entry_.state); }
    [[nodiscard]] std::uint32_t attempts() const noexcept { return entry_.attempts; }
    [[nodiscard]] std::int64_t token() const noexcept { return entry_.token; }
    [[nodiscard]] std::string_view holder() const noexcept { return detail::text_or_nothing(entry_.holder); }
    [[nodiscard]] std::int64_t holder_id() const noexcept { return entry_.holder_id; }
    [[nodiscard]] std::string_view error() const noexcept { return detail::text_or_nothing(entry_.error); }

    [[nodiscard]] const tw_durable_entry &native() const noexcept { return entry_; }

  private:
    const tw_durable_entry &entry_;
};

// The callables that visit jobs or other items: each(item) returns nothing, or false to end the walk. They
// must not call the `durable` that they visit.
template <class F, class Item>
concept durable_visitor_of =
    std::is_void_v<std::invoke_result_t<F &, const Item &>> || std::is_invocable_r_v<bool, F &, const Item &>;
template <class F>
concept durable_visitor = durable_visitor_of<F, durable_entry>;

namespace detail {

// Calls each(Item(native, more...)) for every item of a walk, which call(visitor, arg) begins. Returns the
// result of `call`. An exception of `each` ends the walk, and is thrown when the C library has returned.
template <class Item, class Native, class F, class Call, class... More>
std::int64_t walk_durable(F &each, const Call &call, More... more) {
    std::exception_ptr thrown;
    auto show = [&](const Native &native) noexcept {
        try {
            const Item item(native, more...);
            if constexpr (std::is_void_v<std::invoke_result_t<F &, const Item &>>) {
                std::invoke(each, item);
                return 0;
            } else {
                return std::invoke(each, item) ? 0 : 1;
            }
        } catch (...) {
            thrown = std::current_exception();
            return 1;
        }
    };
    const auto visit = [](const Native *native, void *arg) {
        return (*static_cast<decltype(show) *>(arg))(*native);
    };
    const std::int64_t result = call(visit, &show);
    if (thrown)
        std::rethrow_exception(thrown);
    return result;
}

}  // namespace detail
}  // namespace tickwheel

#endif
