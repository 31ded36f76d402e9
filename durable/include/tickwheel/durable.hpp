// tickwheel/durable.hpp - timers that a database keeps, in C++. durable.h says what they promise.
//
//     tickwheel::durable jobs(rt, "sqlite:jobs.db");
//     jobs.handle("reminder", [&](tickwheel::durable_fire &fire) {
//         if (!mail.is_up())
//             return fire.again(30s);
//         mail.remind(fire.key(), fire.payload());
//         return fire.done();
//     });
//     jobs.put({.kind = "reminder", .key = "order 17", .after = 3min});  // on disk when it returns
//
// With a payload of your own type, whose codec typed.hpp explains:
//
//     constexpr tickwheel::durable_kind<order> unpaid{"unpaid"};
//     jobs.handle(unpaid, [&](const order &late, tickwheel::durable_fire &) { shop.cancel(late); });
//     jobs.put(unpaid, new_order, {.key = "17", .after = 3min});
//
// durable_sqlite.hpp puts jobs in your own transaction.
//
// Link it with tickwheel::durable and tickwheel::cpp. Conventions are those of tickwheel.hpp, and:
//
//   Time        Time points are std::chrono::sys_time, of the database's clock.
//   Errors      have the codes that durable.h names at each function, and the database's own
//               message.
//   Names       need not end with a zero byte. A name that contains one throws
//               std::system_error (invalid_argument).
//   Threads     Any thread may make any call, handlers included, but not the runtime's thread: calls wait
//               for the database.
#include <tickwheel/cplusplus.hpp>
#if defined(TICKWHEEL_CPLUSPLUS_20) && !defined(TICKWHEEL_DURABLE_HPP)
#define TICKWHEEL_DURABLE_HPP

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tickwheel/durable.h>
#include <tickwheel/durable/fire.hpp>
#include <tickwheel/durable/handler.hpp>
#include <tickwheel/durable/jobs.hpp>
#include <tickwheel/durable/members.hpp>
#include <tickwheel/durable/typed.hpp>
#include <tickwheel/runtime.hpp>

namespace tickwheel {

enum class durable_event {
    connected = TW_DURABLE_CONNECTED,
    disconnected = TW_DURABLE_DISCONNECTED,
    lease_lost = TW_DURABLE_LEASE_LOST,
    refused = TW_DURABLE_REFUSED
};

// How a process handles a kind. The limits are explained at struct tw_durable_handling.
struct durable_handling {
    std::uint32_t attempts = 0;               // 0 stands for 20
    std::chrono::nanoseconds backoff{0};      // 0 stands for 1 s
    std::chrono::nanoseconds backoff_max{0};  // 0 stands for 1 h
    std::uint32_t running = 0;                // the most that run at a time in all processes; 0: no limit
    std::uint32_t rate = 0;                   // the most that start within `per`; 0: no limit
    std::chrono::nanoseconds per{0};          // 0 stands for 1 s
};

// The options without a comment are explained at struct tw_durable_options.
struct durable_options {
    const char *schema = nullptr, *name = nullptr;
    std::chrono::nanoseconds lease{0}, poll{0}, horizon{0};
    std::uint32_t hold = 0;
    std::uint32_t backlog = 0;
    std::chrono::nanoseconds timeout{0};
    tw_workers *workers = nullptr;  // the native() of a pool on the same runtime
    unsigned threads = 0;
    const char *grant_to = nullptr;
    bool must_exist = false;
    bool confirmed_only = false;
    bool single_thread = false;
    const tw_store *store = nullptr;
    std::function<void(durable_event, std::string_view why)> on_event{};  // must not throw
};

namespace detail {

// Everything that the C library points to.
struct durable_home {
    durable_runs runs;
    bool is_on_one_thread = false;
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
        c.backlog = o.backlog;
        c.timeout_ns = o.timeout.count();
        c.workers = o.workers;
        c.threads = o.threads;
        c.grant_to = o.grant_to;
        c.must_exist = o.must_exist ? 1 : 0;
        c.confirmed_only = o.confirmed_only ? 1 : 0;
        c.single_thread = o.single_thread ? 1 : 0;
        c.store = o.store;
        c.on_event = on_event ? pass_event : nullptr;
        c.on_event_arg = this;
        return c;
    }
};

}  // namespace detail

// A connection with a database. The constructor opens it, and throws std::system_error with the errors of
// tw_durable_open. The destructor closes it as tw_durable_close does, but cannot report -ETIMEDOUT. The
// destructor waits for the handlers that are running, so do not hold a lock that one of them takes. Destroy
// the object before its runtime and its workers, and not in a handler.
class durable : public detail::typed_puts<durable> {
  public:
    using typed_puts::add;  // for typed kinds
    using typed_puts::put;

    // A connection that handles jobs on the runtime, and can also put, list and so on.
    template <class Clock>
    durable(basic_runtime<Clock> &rt, const std::string &address, const durable_options &o = {})
        : durable(rt.native(), address, o) {}

    // A connection that can put, list and so on, but handles no jobs.
    explicit durable(const std::string &address, const durable_options &o = {})
        : durable(nullptr, address, o) {}

    durable(const durable &) = delete;
    durable &operator=(const durable &) = delete;
    ~durable() {
        if (home_->is_on_one_thread)
            home_->runs.destroy_all();
        if (tw_durable_close(native()) == -EBUSY)
            static_cast<void>(home_.release());  // a handler has called std::exit: the connection needs home_
    }

    // The connection as the C interface knows it.
    [[nodiscard]] tw_durable *native() const noexcept { return home_->runs.connection; }

    // Makes this process handle a kind of jobs: calls f(fire) on a worker when a job is due. f may be a
    // coroutine (handler.hpp), and is destroyed with the connection. An exception that leaves f counts as a
    // failure, with its text as the reason.
    template <durable_handler F> void handle(std::string_view kind, F f, const durable_handling &how = {}) {
        const tw_durable_handling c = {
            how.attempts, how.backoff.count(), how.backoff_max.count(), how.running,
            how.rate,     how.per.count()};
        const std::string name = detail::durable_text(kind);
        std::list<std::unique_ptr<detail::durable_callable>> stored;
        stored.push_back(std::make_unique<detail::stored_durable_callable<F>>(std::move(f), home_->runs));
        detail::check_durable(tw_durable_register(
            native(), name.c_str(), detail::durable_callable::call_stored, stored.front().get(), &c));
        const std::lock_guard hold(home_->of_handlers);
        home_->handlers.splice(home_->handlers.end(), stored);  // which allocates nothing
    }

    // The same for a typed kind: calls f(value, fire). If the codec refuses the payload, the try has failed,
    // and f is not called.
    template <durable_value T, durable_handler<T> F>
    void handle(const durable_kind<T> &kind, F f, const durable_handling &how = {}) {
        handle(kind.name, detail::typed_handler<T, F>{std::string(kind.name), std::move(f)}, how);
    }

    // NOLINTBEGIN(readability-make-member-function-const): they change the database

    // Puts a job. When this returns, the job is on disk.
    void put(const durable_job &job, durable_existing existing = durable_existing::replace) {
        detail::native_job c(job);
        detail::check_durable(
            tw_durable_put(native(), c.native(), static_cast<tw_durable_existing>(existing)));
    }

    // Puts a job, unless there is one of this name. Returns false if there is one.
    bool add(const durable_job &job) {
        detail::native_job c(job);
        const int result = tw_durable_put(native(), c.native(), TW_DURABLE_ADD);
        return result != -EEXIST && detail::check_durable(result) == 0;
    }

    // Puts a range of jobs in one transaction: all or none.
    template <std::ranges::input_range Jobs>
    requires std::convertible_to < std::ranges::range_reference_t<Jobs>,
    const durable_job & > void put(Jobs &&jobs, durable_existing existing = durable_existing::replace) {
        std::vector<detail::native_job> all;
        for (const durable_job &each : jobs)
            all.emplace_back(each);
        put_all(all, existing);
    }

    // Puts a job for each value of a range in one transaction: all or none. describe(value) returns the job.
    template <durable_value T, std::ranges::input_range Values, std::invocable<const T &> Describe>
    void put(const durable_kind<T> &kind, Values &&values, Describe describe,
             durable_existing existing = durable_existing::replace) {
        std::deque<decltype(durable_codec<T>::encode(std::declval<const T &>()))> payloads;
        std::vector<detail::native_job> all;
        for (const T &each : values)
            all.emplace_back(detail::typed_job(kind, std::invoke(describe, each),
                                               payloads.emplace_back(durable_codec<T>::encode(each))));
        put_all(all, existing);
    }

    // Removes a job. Returns true if this prevented a fire; false if its handler was started, or there is no
    // such job.
    bool cancel(std::string_view kind, std::string_view key) {
        const int result = tw_durable_cancel(native(), detail::durable_text(kind).c_str(),
                                             detail::durable_text(key).c_str());
        return result != -ENOENT && detail::check_durable(result) != 0;
    }

    // Makes a job fire now, and returns false if it was started. See tw_durable_fire_now.
    bool fire_now(std::string_view kind, std::string_view key) {
        return detail::check_durable(tw_durable_fire_now(native(), detail::durable_text(kind).c_str(),
                                                         detail::durable_text(key).c_str())) != 0;
    }

    // Make failed jobs fire again, at once and with all their tries: one job, all of a kind, or all. The
    // first function returns true if there was such a job, the others return how many there were.
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

    // As `cancel` and `requeue`, for all jobs that the filter selects: an empty filter selects all. Each
    // returns how many jobs it has removed or requeued. See tw_durable_cancel_many.
    std::size_t cancel_many(const durable_filter &filter) {
        const detail::native_filter c(filter);
        return static_cast<std::size_t>(detail::check_durable(tw_durable_cancel_many(native(), &c.filter)));
    }
    std::size_t requeue_many(const durable_filter &filter) {
        const detail::native_filter c(filter);
        return static_cast<std::size_t>(detail::check_durable(tw_durable_requeue_many(native(), &c.filter)));
    }

    // NOLINTEND(readability-make-member-function-const)

    // Looks up a job, and calls each(entry). Returns false if there is no such job.
    template <durable_visitor F> bool get(std::string_view kind, std::string_view key, F each) const {
        const auto get = [&](tw_durable_visitor *visit, void *arg) {
            return tw_durable_get(native(), detail::durable_text(kind).c_str(),
                                  detail::durable_text(key).c_str(), visit, arg);
        };
        const std::int64_t result = detail::walk_durable<durable_entry, tw_durable_entry>(each, get);
        return result != -ENOENT && detail::check_durable(result) >= 0;
    }

    // Calls each(entry) on the jobs that the filter selects, in its order, and passes on the exceptions of
    // `each`. Returns false if `each` has ended the walk.
    template <durable_visitor F> bool list(const durable_filter &filter, F each) const {
        const detail::native_filter c(filter);
        const auto list = [&](tw_durable_visitor *visit, void *arg) {
            return tw_durable_list(native(), &c.filter, visit, arg);
        };
        return detail::check_durable(detail::walk_durable<durable_entry, tw_durable_entry>(each, list)) == 0;
    }

    [[nodiscard]] std::size_t count(const durable_filter &filter = {}) const {
        const detail::native_filter c(filter);
        return static_cast<std::size_t>(detail::check_durable(tw_durable_count(native(), &c.filter)));
    }

    // Calls each(tally) for each kind that has jobs, as `list` calls each(entry). The times rise, and divide
    // the pending jobs by the time at which they are ready. No number exceeds `most`, unless that is 0. See
    // tw_durable_tallies.
    template <durable_visitor_of<durable_tally> F>
    bool tallies(std::span<const durable_time> times, std::uint64_t most, F each) const {
        std::vector<std::int64_t> c;
        for (const durable_time time : times)
            c.push_back(detail::reading_of(time));
        const auto tally = [&](tw_durable_tally_visitor *visit, void *arg) {
            return tw_durable_tallies(native(), c.data(), c.size(), most, visit, arg);
        };
        return detail::check_durable(
                   detail::walk_durable<durable_tally, tw_durable_tally>(each, tally, times.size())) == 0;
    }

    // Calls each(member) on the processes that handle jobs, in the order of their ids, as `list` calls
    // each(entry).
    template <durable_visitor_of<durable_member> F> bool members(F each) const {
        const auto walk = [&](tw_durable_member_visitor *visit, void *arg) {
            return tw_durable_members(native(), visit, arg);
        };
        return detail::check_durable(detail::walk_durable<durable_member, tw_durable_member>(each, walk)) ==
               0;
    }

    // Why a job has not run yet, in a sentence, also if there is no such job. See tw_durable_why.
    [[nodiscard]] std::string why(std::string_view kind, std::string_view key) const {
        std::array<char, 4096> text{};
        const int result = tw_durable_why(native(), detail::durable_text(kind).c_str(),
                                          detail::durable_text(key).c_str(), text.data(), text.size());
        if (result != -ENOENT)
            detail::check_durable(result);
        return text.data();
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

    // The text that tw_durable_metrics writes, with this value of the label "name" unless that is empty.
    [[nodiscard]] std::string metrics(std::string_view name = {}) const {
        const std::string label = detail::durable_text(name);
        return written([&](tw_text *write, void *arg) {
            return tw_durable_metrics(native(), label.empty() ? nullptr : label.c_str(), write, arg);
        });
    }

    // The text that tw_durable_dump writes.
    [[nodiscard]] std::string dump() const {
        return written([this](tw_text *write, void *arg) { return tw_durable_dump(native(), write, arg); });
    }

  private:
    // Collects the text that call(write, arg) writes.
    template <class Call> static std::string written(const Call &call) {
        struct {
            std::string all;
            std::exception_ptr thrown;
        } text;
        const auto append = [](const char *part, std::size_t size, void *arg) {
            auto &to = *static_cast<decltype(text) *>(arg);
            try {
                to.all.append(part, size);
            } catch (...) {
                to.thrown = std::current_exception();
            }
        };
        const int error = call(append, &text);
        if (text.thrown)
            std::rethrow_exception(text.thrown);
        detail::check_durable(error);
        return std::move(text.all);
    }

    durable(tw_runtime *rt, const std::string &address, const durable_options &o)
        : home_(std::make_unique<detail::durable_home>()) {
        home_->on_event = o.on_event;
        home_->is_on_one_thread = o.single_thread;
        const tw_durable_options c = home_->c_options(o);
        detail::check_durable(
            tw_durable_open(&home_->runs.connection, rt, detail::durable_text(address).c_str(), &c));
    }

    void put_all(std::vector<detail::native_job> &jobs, durable_existing existing) {
        std::vector<tw_durable_job> c;
        c.reserve(jobs.size());
        for (detail::native_job &each : jobs)
            c.push_back(*each.native());
        detail::check_durable(
            tw_durable_put_many(native(), c.data(), c.size(), static_cast<tw_durable_existing>(existing)));
    }

    std::unique_ptr<detail::durable_home> home_;
};

}  // namespace tickwheel

#endif
