// The functions of durable.h that concern this process: open, close, register, explain and now.
#include "tw_durable.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "check_job.hpp"
#include "explain.hpp"
#include "guard.hpp"
#include "run_handler.hpp"
#include "stores/stores.hpp"

namespace tickwheel::durable {

namespace {

database with_timeout(database to, std::int64_t longest_ns) {
    to.timeout_ns = std::min(to.timeout_ns, longest_ns);
    return to;
}

}  // namespace

member::member(const database &to, const settings &settings, const local_clock &local,
               database_clock &database, job_counters &count)
    : all(settings), clock(local), its_clock(database), counts(count), timeout_ns(to.timeout_ns),
      jobs(settings, local, database, lease, count), for_membership(with_timeout(to, settings.lease_ns / 3)),
      membership(for_membership, settings, local, database, lease, jobs, troubles, count),
      for_dispatcher(with_timeout(to, TW_SECOND)),
      dispatcher(for_dispatcher, settings, local, database, lease, membership, jobs, troubles, count) {}

int member::start(tw_runtime *rt) {
    if (all.single_thread)
        if (const int error = tw_timers_new(&rounds, rt, nullptr); error != 0)
            return error;
    membership_loop = std::make_unique<agent_loop>(membership, clock, rounds);
    dispatcher_loop = std::make_unique<agent_loop>(dispatcher, clock, rounds);
    dispatcher.call_for_membership([this] { membership_loop->ring(); });
    if (const int error = jobs.start(rt, [this] { dispatcher_loop->ring(); }); error != 0)
        return error;
    if (const int error = membership_loop->start("durable-member"); error != 0)
        return error;
    return dispatcher_loop->start("durable-starts");
}

// The loops' timers belong to `rounds`, so the destructor ends the loops first.
member::~member() {
    membership_loop.reset();
    dispatcher_loop.reset();
    tw_timers_free(rounds);
}

// The order matters: the dispatcher starts no more jobs, so `jobs.end` can wait for the last handlers.
// Meanwhile the dispatcher settles the answers of the others: another process may wait for the end of one of
// these jobs, because of a limit. After `jobs.end` no new answers arrive.
std::size_t member::end() {
    const std::uint64_t lost = jobs.lost_answers();
    dispatcher.start_no_more();
    const std::size_t unanswered = jobs.end();
    if (dispatcher_loop != nullptr)
        dispatcher_loop->stop();
    std::size_t unsettled = dispatcher.settle_rest(timeout_ns);
    if (membership_loop != nullptr)
        membership_loop->stop();
    if (unsettled != 0 && !all.single_thread)
        unsettled =
            dispatcher.settle_rest(0);  // the database may have become free while the membership stopped
    membership.leave();
    return unanswered + unsettled + static_cast<std::size_t>(jobs.lost_answers() - lost);
}

int check_usable(const tw_durable *durable) {
    if (durable == nullptr)
        return refuse(-EINVAL, "the connection is null");
    if (getpid() != durable->process)
        return refuse(-ECHILD, "this process is a fork of the one that opened the database");
    return 0;
}

namespace {

const tw_store *store_for(const char *address, const tw_durable_options &options) {
    return options.store != nullptr ? options.store : tw_store_for(address);
}

int fill_in(tw_durable &durable, tw_runtime *rt, const char *address, const tw_durable_options &options) {
    const char *const schema = options.schema != nullptr ? options.schema : "tickwheel";
    if (const int error = check_schema(schema); error != 0)
        return error;
    if (const int error = complete(options, durable.settings); error != 0)
        return error;
    const std::int64_t timeout =
        options.timeout_ns != 0 ? options.timeout_ns : std::min(5 * TW_SECOND, durable.settings.lease_ns);
    if (timeout < 10 * TW_MILLISECOND || timeout > 60 * TW_SECOND)
        return refuse(-EINVAL, "the timeout is shorter than 10 ms, or longer than 1 min");
    if (rt != nullptr && timeout > durable.settings.lease_ns)
        return refuse(-EINVAL, "the lease is shorter than the timeout");
    if (durable.settings.single_thread && rt == nullptr)
        return refuse(-EINVAL, "`single_thread` needs a runtime");
    if (options.grant_to != nullptr && *options.grant_to == 0)
        return refuse(-EINVAL, "the name of the role is empty");
    const tw_store *const store = store_for(address, options);
    if (store == nullptr)
        return refuse(-EOPNOTSUPP, addresses_of_this_build());
    durable.clock.virtual_time = durable.settings.single_thread ? rt : nullptr;
    durable.database = {store,
                        absolute_address(*store, address),
                        schema,
                        timeout,
                        options.grant_to != nullptr ? options.grant_to : "",
                        options.must_exist != 0,
                        [](void *clock) { return static_cast<local_clock *>(clock)->now(); },
                        &durable.clock,
                        durable.settings.single_thread};
    return 0;
}

int open(tw_durable **durable, tw_runtime *rt, const char *address, const tw_durable_options &options) {
    auto made = std::make_unique<tw_durable>();
    if (const int error = fill_in(*made, rt, address, options); error != 0)
        return error;
    if (const int error = made->put_queue.open(); error != 0)
        return error;
    made->database.grant_to.clear();  // once is enough
    if (rt != nullptr) {
        made->member = std::make_unique<member>(made->database, made->settings, made->clock, made->its_clock,
                                                made->counts);
        made->put_queue.serve(made->member->lease);
        if (const int error = made->member->start(rt); error != 0) {
            made->member->end();
            return refuse(error, tw_explain(error));
        }
    }
    *durable = made.release();
    return 0;
}

// In the child of a fork the threads that held locks, or waited, do not exist and never release them. So the
// child only abandons the connections, and leaves all objects with locks and threads as they are.
void leave_to_parent(tw_durable &durable) {
    durable.put_queue.abandon();
    if (durable.member == nullptr)
        return;
    durable.member->membership.abandon();
    durable.member->dispatcher.abandon();
}

int complete(const tw_durable_handling *given, tw_durable_handling &all) {
    all = given != nullptr ? *given : tw_durable_handling{};
    if (all.attempts == 0)
        all.attempts = 20;
    if (all.backoff_ns == 0)
        all.backoff_ns = TW_SECOND;
    if (all.backoff_max_ns == 0)
        all.backoff_max_ns = 3600 * TW_SECOND;
    if (all.per_ns == 0)
        all.per_ns = TW_SECOND;
    if (all.backoff_ns < 0 || all.backoff_max_ns < all.backoff_ns ||
        all.backoff_max_ns > TW_STORE_TIME_MAX / 2 || all.attempts > INT32_MAX)
        return refuse(-EINVAL, "the delays between tries are negative, or the first is longer than the "
                               "longest, whose default is 1 h");
    if (all.per_ns < TW_MILLISECOND || all.per_ns > TW_SECOND * 3600 * 24 * 366)
        return refuse(-EINVAL, "the time of the rate is shorter than 1 ms, or longer than 366 days");
    return 0;
}

}  // namespace

}  // namespace tickwheel::durable

using namespace tickwheel::durable;

tw_durable::tw_durable() : settings{}, clock{nullptr}, database{}, put_queue(database), process(getpid()) {}

TW_API int tw_durable_open(tw_durable **durable, tw_runtime *rt, const char *address,
                           const tw_durable_options *options) {
    if (durable == nullptr || address == nullptr)
        return refuse(-EINVAL, "the place for the connection, or the address is null");
    return guarded(
        [&] { return open(durable, rt, address, options != nullptr ? *options : tw_durable_options{}); });
}

TW_API int tw_durable_close(tw_durable *durable) {
    if (durable == nullptr)
        return 0;
    if (getpid() != durable->process) {
        leave_to_parent(*durable);
        return 0;
    }
    if (is_in_user_code() || durable->put_queue.is_in_use_by_this_thread())
        return refuse(-EBUSY, "called from a handler, an event or a visitor");
    const std::unique_ptr<tw_durable> last(durable);
    if (durable->member == nullptr || durable->member->end() == 0)
        return 0;
    const trouble found = durable->member->troubles.now();
    char why[sizeof found.why + 64];
    std::snprintf(why, sizeof why, "answers have not reached the database: %s",
                  found.why[0] != 0 ? found.why : "handlers have yet to give them");
    return refuse(-ETIMEDOUT, why);
}

TW_API int tw_durable_register(tw_durable *durable, const char *kind, tw_durable_handler *fn, void *arg,
                               const tw_durable_handling *how) {
    if (const int error = check_usable(durable); error != 0)
        return error;
    if (const int error = check_name(kind, "kind"); error != 0)
        return error;
    if (fn == nullptr)
        return refuse(-EINVAL, "the handler is null");
    if (durable->member == nullptr)
        return refuse(-EPERM, "the connection was opened without a runtime");
    return guarded([&] {
        handling added = {kind, fn, arg, {}};
        if (const int error = complete(how, added.how); error != 0)
            return error;
        if (durable->member->membership.handle(std::move(added)) != 0)
            return refuse(-EEXIST, "this kind already has a handler");
        durable->member->membership_loop->ring();
        return 0;
    });
}

TW_API const char *tw_durable_explain(int error) { return explanation_of(error); }

TW_API int64_t tw_durable_now(tw_durable *durable) {
    if (const int error = check_usable(durable); error != 0)
        return error;
    if (durable->its_clock.is_known())
        return durable->its_clock.at(durable->clock.now());
    return guarded([&] { return read_clock(*durable); });
}
