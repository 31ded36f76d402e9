#include "run_handler.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "claimed_jobs.hpp"
#include "explain.hpp"
#include "guard.hpp"
#include "schedule.hpp"
#include "tw_durable.hpp"
#include "utf8_text.hpp"

namespace tickwheel::durable {

namespace {

thread_local unsigned depth_of_user_code = 0;

claimed_job &job_of(const tw_durable_fire &fire) {
    return *static_cast<claimed_job *>(fire.fields_of_the_library);
}

// The delay after the n-th failure, n being `failures`; each delay is twice as long as the one before.
std::int64_t backoff(const tw_durable_handling &how, std::uint32_t failures) {
    std::int64_t delay = how.backoff_ns;
    for (std::uint32_t i = 1; i < failures && delay < how.backoff_max_ns; ++i)
        delay *= 2;
    return std::min(delay, how.backoff_max_ns);
}

answer release() { return {nullptr, TW_STORE_RELEASE, 0, 0, false, 0, {}}; }

// The job continues with its next due time; a job without one ends.
answer go_on(const fire_plan &plan, std::string error) {
    if (plan.next_ns == TW_NO_DEADLINE)
        return {nullptr, TW_STORE_END, 0, 0, false, 0, {}};
    return {nullptr, TW_STORE_MOVE, plan.next_ns, plan.next_ns, false, 0, std::move(error)};
}

// The last attempt has failed. A periodic job goes on, so that one bad day does not end it.
answer give_up(const claimed_job &claimed, const fire_plan &plan, std::string error) {
    if (plan.next_ns != TW_NO_DEADLINE)
        return go_on(plan, std::move(error));
    return {nullptr, TW_STORE_FAIL, plan.due_ns, plan.due_ns, false, claimed.attempts, std::move(error)};
}

// Returns an empty text if memory runs out: the answer must count all the same.
std::string text_of(const std::string &why) noexcept {
    try {
        return !why.empty() ? made_utf8(why.c_str()) : "the handler has failed";
    } catch (const std::bad_alloc &) {
        return {};
    }
}

answer fail(const claimed_job &claimed, job_counters &counts) {
    const fire_plan &plan = claimed.fire.plan;
    const std::uint32_t failures = claimed.attempts + 1;
    std::string error = text_of(claimed.fire.why);
    if (failures >= claimed.by.how.attempts) {
        ++counts.failed;
        answer last = give_up(claimed, plan, std::move(error));
        if (last.what == TW_STORE_FAIL)
            last.attempts = failures;
        return last;
    }
    ++counts.retried;
    return {nullptr, TW_STORE_MOVE, plan.due_ns,     backoff(claimed.by.how, failures),
            true,    failures,      std::move(error)};
}

std::optional<answer> call(claimed_job &claimed, job_counters &counts) {
    tw_durable_fire &fire = claimed.fire.shown;
    fire.kind = claimed.job.kind;
    fire.key = claimed.job.key;
    fire.payload = claimed.job.payload;
    fire.size = claimed.job.size;
    fire.due_ns = claimed.fire.plan.due_ns;
    fire.overruns = claimed.fire.plan.overruns;
    fire.attempt = claimed.attempts + 1;
    fire.token = claimed.token;
    fire.fields_of_the_library = &claimed;
    int said;  // an int, because a handler in C may return any number
    {
        const in_user_code inside;
        said = static_cast<int>(claimed.by.fn(&fire, claimed.by.arg));
    }
    if (said == TW_DURABLE_LATER)
        return std::nullopt;
    return outcome_of(claimed, said, counts);
}

}  // namespace

in_user_code::in_user_code() { ++depth_of_user_code; }
in_user_code::~in_user_code() { --depth_of_user_code; }
bool is_in_user_code() { return depth_of_user_code > 0; }

answer outcome_of(const claimed_job &claimed, int said, job_counters &counts) {
    const fire_in_progress &fire = claimed.fire;
    switch (said) {
    case TW_DURABLE_DONE:
        ++counts.done;
        return go_on(fire.plan, {});
    case TW_DURABLE_AGAIN:
        ++counts.again;
        return {nullptr, TW_STORE_MOVE, fire.plan.due_ns, fire.again_ns, true, claimed.attempts, {}};
    default:
        return fail(claimed, counts);
    }
}

std::optional<answer> run_handler(claimed_job &claimed, std::int64_t database_now, const lease &lease,
                                  const local_clock &clock, job_counters &counts) {
    if (lease.remaining(claimed.whom.id, clock.now()) == 0) {
        ++counts.taken_back;
        return release();
    }
    if (claimed.job.cron != nullptr && claimed.dates == nullptr) {
        ++counts.retried;
        return answer{nullptr, TW_STORE_MOVE,    claimed.job.due_ns,  60 * TW_SECOND,
                      true,    claimed.attempts, claimed.why_no_dates};
    }
    // A retry fires for its original due time, however late it is.
    const bool is_first_try = claimed.ready_ns == claimed.job.due_ns && claimed.attempts == 0;
    const fire_plan plan = is_first_try
                               ? plan_fire(claimed.job, claimed.dates.get(), claimed.job.due_ns, database_now)
                               : plan_retry(claimed.job, claimed.dates.get(), claimed.job.due_ns);
    if (!plan.fires) {
        ++counts.skipped;
        return go_on(plan, {});
    }
    if (claimed.attempts >= claimed.by.how.attempts) {  // a process ended in each of these attempts
        ++counts.failed;
        return give_up(claimed, plan,
                       text_of("the process of each try has ended before the handler answered"));
    }
    ++counts.started;
    counts.add_late(std::max<std::int64_t>(database_now - claimed.ready_ns, 0));
    claimed.fire.plan = plan;
    return call(claimed, counts);
}

}  // namespace tickwheel::durable

using namespace tickwheel::durable;

TW_API tw_durable_answer tw_durable_again(tw_durable_fire *fire, int64_t delay_ns) {
    job_of(*fire).fire.again_ns = std::clamp<std::int64_t>(delay_ns, 0, TW_STORE_TIME_MAX);
    return TW_DURABLE_AGAIN;
}

TW_API tw_durable_answer tw_durable_failed(tw_durable_fire *fire, const char *why) {
    try {
        job_of(*fire).fire.why.assign(why != nullptr ? why : "", why != nullptr ? strnlen(why, 200) : 0);
    } catch (const std::bad_alloc &) {  // the answer counts without its text
    }
    return TW_DURABLE_RETRY;
}

TW_API int tw_durable_answer_later(tw_durable *durable, tw_durable_fire *fire, tw_durable_answer answer) {
    if (const int error = check_usable(durable); error != 0)
        return error;
    if (fire == nullptr || answer == TW_DURABLE_LATER)
        return refuse(-EINVAL, "the fire is null, or the answer says that another will come");
    claimed_job &job = job_of(*fire);
    return job.home.answer_later(job, answer) == 0 ? 0 : refuse(-EALREADY, "the fire has an answer already");
}

TW_API int64_t tw_durable_lease(const tw_durable_fire *fire) {
    const claimed_job &job = job_of(*fire);
    return job.home.lease_of(job);
}
