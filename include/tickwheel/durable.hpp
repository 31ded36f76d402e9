// tickwheel/durable.hpp - timers that a database keeps: the C++ face of durable.h, which says what all of it
// does.
//
//     tickwheel::durable jobs(rt, "sqlite:jobs.db");
//     jobs.handle("reminder", [&](tickwheel::durable_fire &fire) {
//         if (!mail.is_up())
//             return fire.again(30s);
//         mail.remind(fire.key(), fire.payload());
//         return fire.done();
//     });
//     jobs.put({.kind = "reminder", .key = "order 17", .payload = address, .after = 3min});  // on disk from
//     here on
//
// Link it with tickwheel::durable. Conventions are those of tickwheel.hpp, and:
//   Time     std::chrono::sys_time of the database's clock
//   Errors   std::system_error with the codes that durable.h names at each function, and what the database
//   says Names    kinds and keys are copied; one with a zero byte is refused (invalid_argument) Threads  any
//   call from any thread, handlers included, but not on the runtime's thread: they wait for the database
#include <tickwheel/cplusplus.hpp>
#if defined(TICKWHEEL_CPLUSPLUS_20) && !defined(TICKWHEEL_DURABLE_HPP)
#define TICKWHEEL_DURABLE_HPP

#include <cerrno>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include <tickwheel/chrono.hpp>
#include <tickwheel/durable.h>
#include <tickwheel/runtime.hpp>

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
    failed = TW_DURABLE_FAILED
};
enum class durable_event {
    connected = TW_DURABLE_CONNECTED,
    disconnected = TW_DURABLE_DISCONNECTED,
    lease_lost = TW_DURABLE_LEASE_LOST
};

// Bytes of the caller's: made from a text or from bytes, and valid as long as these.
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

// A job to be put. With kind and key alone it fires once, at once. See struct tw_durable_job.
struct durable_job {
    std::string_view kind, key;
    durable_payload payload{};

    std::chrono::nanoseconds after{0};  // when it fires, or fires first: so long from the put,
    std::optional<durable_time> at{};   // or at this time

    std::chrono::nanoseconds every{0};  // its period; or a cron expression, in a time zone
    std::string_view cron{}, zone{};
    durable_missed missed = durable_missed::coalesce;
    std::chrono::nanoseconds grace{0};  // 0 stands for 1 s
};

// Which jobs a list or count is about; empty: all. See struct tw_durable_filter.
struct durable_filter {
    std::string_view kind{};
    std::vector<durable_state> states{};
    std::string_view after{};
    std::size_t limit = 0;
};

struct durable_retries {
    std::uint32_t attempts = 0;               // 0 stands for 20
    std::chrono::nanoseconds backoff{0};      // 0 stands for 1 s
    std::chrono::nanoseconds backoff_max{0};  // 0 stands for 1 h
};

// The options without a comment are explained at struct tw_durable_options.
struct durable_options {
    const char *schema = nullptr, *name = nullptr;
    std::chrono::nanoseconds lease{0}, poll{0}, horizon{0};
    std::uint32_t hold = 0;
    std::chrono::nanoseconds timeout{0};
    tw_workers *workers = nullptr;  // the native() of a pool on the same runtime
    unsigned threads = 0;
    bool confirmed_only = false;
    bool single_thread = false;
    const tw_store *store = nullptr;
    std::function<void(durable_event, std::string_view why)> on_event{};  // must not throw
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
          zone(durable_text(from.zone)), job{} {
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
    }

    // What it points to is valid until this is moved or destroyed.
    tw_durable_job *native() {
        job.kind = kind.c_str();
        job.key = key.c_str();
        job.cron = cron.empty() ? nullptr : cron.c_str();
        job.zone = zone.empty() ? nullptr : zone.c_str();
        return &job;
    }

    std::string kind, key, cron, zone;
    tw_durable_job job;
};

struct native_filter {
    explicit native_filter(const durable_filter &from)
        : kind(durable_text(from.kind)), after(durable_text(from.after)) {
        filter.kind = kind.empty() ? nullptr : kind.c_str();
        filter.after = after.empty() ? nullptr : after.c_str();
        for (const durable_state state : from.states)
            filter.states |= static_cast<unsigned>(state);
        filter.limit = from.limit;
    }
    native_filter(const native_filter &) = delete;
    native_filter &operator=(const native_filter &) = delete;

    std::string kind, after;
    tw_durable_filter filter = {};
};

}  // namespace detail

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

    // For how much longer no other process can hold this job.
    [[nodiscard]] std::chrono::nanoseconds lease() const noexcept {
        return std::chrono::nanoseconds(tw_durable_lease(&fire_));
    }

    // The job has ended, or waits for its next due time.
    [[nodiscard]] durable_answer done() const noexcept { return durable_answer(TW_DURABLE_DONE); }

    // It is to fire once more for this due time, `delay` from now. That is no failure. Throws
    // std::system_error (invalid_argument) if the delay is negative or no number.
    template <class Rep, class Period>
    [[nodiscard]] durable_answer again(std::chrono::duration<Rep, Period> delay) {
        return durable_answer(tw_durable_again(&fire_, detail::delay_in(delay)));
    }

    // It has failed, and is tried again as the handler's options say. The reason is for people.
    [[nodiscard]] durable_answer failed(std::string_view why) { return failed(std::string(why).c_str()); }
    [[nodiscard]] durable_answer failed(const char *why) noexcept {
        return durable_answer(tw_durable_failed(&fire_, why));
    }

  private:
    tw_durable_fire &fire_;
};

// The callables that handle a kind: f(fire) returns an answer, or nothing, which stands for `done`. They are
// called on several threads at a time.
template <class F>
concept durable_handler = std::move_constructible<F> &&
    (std::is_invocable_r_v<durable_answer, F &, durable_fire &> ||
     std::is_void_v<std::invoke_result_t<F &, durable_fire &>>);

// A job as the database has it, during a visit. Texts that are not there are empty. See struct
// tw_durable_entry.
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
    [[nodiscard]] durable_time due() const noexcept { return detail::durable_time_of(entry_.job.due_ns); }
    [[nodiscard]] durable_time ready() const noexcept { return detail::durable_time_of(entry_.ready_ns); }
    [[nodiscard]] std::chrono::nanoseconds every() const noexcept {
        return std::chrono::nanoseconds(entry_.job.period_ns);
    }
    [[nodiscard]] std::string_view cron() const noexcept { return detail::text_or_nothing(entry_.job.cron); }
    [[nodiscard]] std::string_view zone() const noexcept { return detail::text_or_nothing(entry_.job.zone); }
    [[nodiscard]] durable_state state() const noexcept { return static_cast<durable_state>(entry_.state); }
    [[nodiscard]] std::uint32_t attempts() const noexcept { return entry_.attempts; }
    [[nodiscard]] std::int64_t token() const noexcept { return entry_.token; }
    [[nodiscard]] std::string_view holder() const noexcept { return detail::text_or_nothing(entry_.holder); }
    [[nodiscard]] std::string_view error() const noexcept { return detail::text_or_nothing(entry_.error); }

    [[nodiscard]] const tw_durable_entry &native() const noexcept { return entry_; }

  private:
    const tw_durable_entry &entry_;
};

// The callables that visit jobs: each(entry) returns nothing, or false to end the walk. They must not call
// the `durable` that they visit.
template <class F>
concept durable_visitor = std::is_void_v<std::invoke_result_t<F &, const durable_entry &>> ||
    std::is_invocable_r_v<bool, F &, const durable_entry &>;

namespace detail {

// A callable that handles a kind. An exception of it is a failure, whose reason is what it says.
struct durable_callable {
    virtual ~durable_callable() = default;
    virtual tw_durable_answer call(durable_fire &fire) = 0;

    static tw_durable_answer call_stored(tw_durable_fire *native, void *self) noexcept {
        durable_fire fire(*native);
        try {
            return static_cast<durable_callable *>(self)->call(fire);
        } catch (const std::exception &thrown) {
            return fire.failed(thrown.what()).native();
        } catch (...) {
            return fire.failed("the handler has thrown something unknown").native();
        }
    }
};

template <class F> struct stored_durable_callable final : durable_callable {
    explicit stored_durable_callable(F &&from) : f(std::move(from)) {}

    tw_durable_answer call(durable_fire &fire) override {
        if constexpr (std::is_void_v<std::invoke_result_t<F &, durable_fire &>>) {
            std::invoke(f, fire);
            return TW_DURABLE_DONE;
        } else {
            return durable_answer(std::invoke(f, fire)).native();
        }
    }

    F f;
};

// A walk over jobs. An exception of the visitor ends it, and is thrown when the C library has returned.
template <class F> struct durable_walk {
    F &each;
    std::exception_ptr thrown;

    static int visit(const tw_durable_entry *native, void *self) noexcept {
        auto &it = *static_cast<durable_walk *>(self);
        try {
            const durable_entry entry(*native);
            if constexpr (std::is_void_v<std::invoke_result_t<F &, const durable_entry &>>) {
                std::invoke(it.each, entry);
                return 0;
            } else {
                return std::invoke(it.each, entry) ? 0 : 1;
            }
        } catch (...) {
            it.thrown = std::current_exception();
            return 1;
        }
    }

    int checked(int result) const {
        if (thrown)
            std::rethrow_exception(thrown);
        return static_cast<int>(check_durable(result));
    }
};

// What the C library has pointers to.
struct durable_home {
    tw_durable *native = nullptr;
    std::function<void(durable_event, std::string_view)> on_event;
    std::mutex of_handlers;
    std::list<std::unique_ptr<durable_callable>> handlers;

    static void pass_event(tw_durable_event event, const char *why, void *self) noexcept {
        static_cast<durable_home *>(self)->on_event(static_cast<durable_event>(event), why);
    }

    tw_durable_options c_options(const durable_options &o) {
        tw_durable_options c = {};
        c.schema = o.schema;
        c.name = o.name;
        c.lease_ns = o.lease.count();
        c.poll_ns = o.poll.count();
        c.horizon_ns = o.horizon.count();
        c.hold = o.hold;
        c.timeout_ns = o.timeout.count();
        c.workers = o.workers;
        c.threads = o.threads;
        c.confirmed_only = o.confirmed_only ? 1 : 0;
        c.single_thread = o.single_thread ? 1 : 0;
        c.store = o.store;
        c.on_event = on_event ? pass_event : nullptr;
        c.on_event_arg = this;
        return c;
    }
};

}  // namespace detail

// A connection with a database. It is opened by the constructor, which throws std::system_error as
// tw_durable_open says. The destructor closes it: it waits for the handlers that are running, so do not hold
// a lock that one of them takes. Destroy it before its runtime and its workers, and not in a handler.
class durable {
  public:
    // Puts, lists and so on, and handles jobs on the runtime.
    template <class Clock>
    durable(basic_runtime<Clock> &rt, const std::string &address, const durable_options &o = {})
        : durable(rt.native(), address, o) {}

    // Puts, lists and so on. It handles nothing.
    explicit durable(const std::string &address, const durable_options &o = {})
        : durable(nullptr, address, o) {}

    durable(const durable &) = delete;
    durable &operator=(const durable &) = delete;
    ~durable() {
        if (tw_durable_close(native()) != 0)
            static_cast<void>(home_.release());  // inside a handler, so this is std::exit: it goes on
    }

    // The connection as the C interface knows it.
    [[nodiscard]] tw_durable *native() const noexcept { return home_->native; }

    // Has this process handle a kind of jobs: calls f(fire) on a worker when one is due. An exception that
    // leaves f counts as a failure, and what it says as the reason. f is destroyed with the connection.
    template <durable_handler F>
    void handle(std::string_view kind, F f, const durable_retries &retries = {}) {
        const tw_durable_retries c = {retries.attempts, retries.backoff.count(), retries.backoff_max.count()};
        const std::string name = detail::durable_text(kind);
        const std::lock_guard hold(home_->of_handlers);
        auto &stored =
            home_->handlers.emplace_back(std::make_unique<detail::stored_durable_callable<F>>(std::move(f)));
        const int error = tw_durable_handle(native(), name.c_str(), detail::durable_callable::call_stored,
                                            stored.get(), &c);
        if (error != 0)
            home_->handlers.pop_back();
        detail::check_durable(error);
    }

    // Puts a job. When it returns, the job is on disk. Returns true if there was one of this name.
    bool put(const durable_job &job, durable_existing existing = durable_existing::replace) {
        detail::native_job it(job);
        return detail::check_durable(
                   tw_durable_put(native(), it.native(), static_cast<tw_durable_existing>(existing))) != 0;
    }

    // Puts jobs in one transaction: all or none. Returns how many were new.
    std::size_t put(std::span<const durable_job> jobs,
                    durable_existing existing = durable_existing::replace) {
        std::vector<detail::native_job> all(jobs.begin(), jobs.end());
        std::vector<tw_durable_job> c;
        c.reserve(all.size());
        for (detail::native_job &each : all)
            c.push_back(*each.native());
        return static_cast<std::size_t>(detail::check_durable(
            tw_durable_put_many(native(), c.data(), c.size(), static_cast<tw_durable_existing>(existing))));
    }

    // Removes a job. Returns true if this prevented a fire; false if its handler was started, or there is no
    // such job.
    bool remove(std::string_view kind, std::string_view key) {
        const int result = tw_durable_remove(native(), detail::durable_text(kind).c_str(),
                                             detail::durable_text(key).c_str());
        return result != -ENOENT && detail::check_durable(result) != 0;
    }

    // Have failed jobs fire again, at once and with all their tries. The first returns true if there was such
    // a job, and the others how many there were: of a kind, or of all.
    bool requeue(std::string_view kind, std::string_view key) {
        const std::int64_t result = tw_durable_requeue(native(), detail::durable_text(kind).c_str(),
                                                       detail::durable_text(key).c_str());
        return result != -ENOENT && detail::check_durable(result) != 0;
    }
    std::size_t requeue(std::string_view kind) {
        return static_cast<std::size_t>(
            detail::check_durable(tw_durable_requeue(native(), detail::durable_text(kind).c_str(), nullptr)));
    }
    std::size_t requeue() {
        return static_cast<std::size_t>(
            detail::check_durable(tw_durable_requeue(native(), nullptr, nullptr)));
    }

    // Looks up a job, and calls each(entry). Returns false if there is no such job.
    template <durable_visitor F> bool get(std::string_view kind, std::string_view key, F each) const {
        detail::durable_walk<F> walk{each, nullptr};
        const int result = tw_durable_get(native(), detail::durable_text(kind).c_str(),
                                          detail::durable_text(key).c_str(), walk.visit, &walk);
        if (result == -ENOENT)
            return false;
        walk.checked(result);
        return true;
    }

    // Calls each(entry) on the jobs that the filter selects, by kind and key, and throws what it throws.
    // Returns false if it has ended the walk.
    template <durable_visitor F> bool list(const durable_filter &filter, F each) const {
        const detail::native_filter c(filter);
        detail::durable_walk<F> walk{each, nullptr};
        return walk.checked(tw_durable_list(native(), &c.filter, walk.visit, &walk)) == 0;
    }

    [[nodiscard]] std::size_t count(const durable_filter &filter = {}) const {
        const detail::native_filter c(filter);
        return static_cast<std::size_t>(detail::check_durable(tw_durable_count(native(), &c.filter)));
    }

    // The present time of the database's clock. See tw_durable_now.
    [[nodiscard]] durable_time now() const {
        return detail::durable_time_of(detail::check_durable(tw_durable_now(native())));
    }

    // See tw_durable_stats.
    [[nodiscard]] tw_durable_counts stats() const {
        tw_durable_counts seen;
        detail::check_durable(tw_durable_stats(native(), &seen));
        return seen;
    }

  private:
    durable(tw_runtime *rt, const std::string &address, const durable_options &o)
        : home_(std::make_unique<detail::durable_home>()) {
        home_->on_event = o.on_event;
        const tw_durable_options c = home_->c_options(o);
        detail::check_durable(tw_durable_open(&home_->native, rt, detail::durable_text(address).c_str(), &c));
    }

    std::unique_ptr<detail::durable_home> home_;
};

}  // namespace tickwheel

#endif
