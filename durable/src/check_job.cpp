#include "check_job.hpp"

#include <cerrno>
#include <cstring>
#include <string>

#include <tickwheel/durable_store.h>

#include "explain.hpp"
#include "schedule.hpp"
#include "utf8_text.hpp"

namespace tickwheel::durable {

int check_name(const char *name, const char *what) {
    if (name == nullptr)
        return refuse(-EINVAL, std::string("the ") + what + " is null");
    const std::size_t size = strnlen(name, TW_DURABLE_NAME_MAX + 1);
    if (size == 0 || size > TW_DURABLE_NAME_MAX)
        return refuse(-EINVAL, std::string("the ") + what + " is empty, or longer than 512 bytes");
    if (!is_utf8(name))
        return refuse(-EINVAL, std::string("the ") + what + " is not UTF-8");
    return 0;
}

int check_schema(const char *schema) {
    const std::size_t size = strnlen(schema, 33);
    if (size == 0 || size > 32 || std::strspn(schema, "abcdefghijklmnopqrstuvwxyz0123456789_") != size ||
        (schema[0] >= '0' && schema[0] <= '9'))
        return refuse(-EINVAL,
                      "the schema has characters other than a-z, 0-9 and _, or more than 32 characters");
    return 0;
}

int check_existing(const tw_durable_existing &existing) {
    unsigned number = 0;
    static_assert(sizeof number == sizeof existing);
    std::memcpy(&number, &existing, sizeof number);
    return number <= TW_DURABLE_ADD
               ? 0
               : refuse(-EINVAL, "`existing` is not TW_DURABLE_REPLACE, TW_DURABLE_KEEP or TW_DURABLE_ADD");
}

int refuse_taken_name() { return refuse(-EEXIST, "there is a job of this name"); }

int check_filter(const tw_durable_filter &filter) {
    constexpr unsigned all = TW_DURABLE_PENDING | TW_DURABLE_HELD | TW_DURABLE_STARTED | TW_DURABLE_FAILED |
                             TW_DURABLE_GIVEN_UP | TW_DURABLE_WAITING;
    if (filter.kind != nullptr)
        if (const int error = check_name(filter.kind, "kind of the filter"); error != 0)
            return error;
    if (filter.group != nullptr)
        if (const int error = check_name(filter.group, "group of the filter"); error != 0)
            return error;
    if (filter.after != nullptr) {
        if (filter.kind == nullptr && filter.after_kind == nullptr)
            return refuse(-EINVAL, "a filter with `after` needs a kind");
        if (filter.kind != nullptr && filter.after_kind != nullptr &&
            std::strcmp(filter.kind, filter.after_kind) != 0)
            return refuse(-EINVAL, "`after_kind` is not the kind of the filter");
        if (const int error = check_name(filter.after, "key of the filter"); error != 0)
            return error;
        if (filter.after_kind != nullptr)
            if (const int error = check_name(filter.after_kind, "kind of the filter"); error != 0)
                return error;
    } else if (filter.after_kind != nullptr) {
        return refuse(-EINVAL, "a filter with `after_kind` needs `after`");
    }
    if (filter.ready_before_ns < 0 || filter.ready_from_ns < 0 ||
        (filter.ready_from_ns != 0 && filter.ready_before_ns == 0))
        return refuse(-EINVAL,
                      "a time of the filter is negative, or `ready_from_ns` lacks `ready_before_ns`");
    return (filter.states & ~all) == 0 ? 0 : refuse(-EINVAL, "an unknown state");
}

namespace {

// Checks what only a job that fires once can have.
int check_once(const tw_durable_job &job) {
    if (job.group == nullptr && job.waits_for == nullptr && job.within_ns == 0)
        return 0;
    if (job.period_ns != 0 || job.cron != nullptr)
        return refuse(-EINVAL, "a periodic job has a group, waits for one, or has `within_ns`");
    if (job.group != nullptr)
        if (const int error = check_name(job.group, "group"); error != 0)
            return error;
    if (job.waits_for != nullptr)
        if (const int error = check_name(job.waits_for, "group that the job waits for"); error != 0)
            return error;
    if (job.group != nullptr && job.waits_for != nullptr && std::strcmp(job.group, job.waits_for) == 0)
        return refuse(-EINVAL, "the job waits for its own group");
    return job.within_ns >= 0 && job.within_ns <= TW_STORE_TIME_MAX
               ? 0
               : refuse(-EINVAL, "within_ns is negative, or too long");
}

}  // namespace

int check_job(const tw_durable_job &job, tw_durable_job &checked, calendar *dates) {
    if (const int error = check_name(job.kind, "kind"); error != 0)
        return error;
    if (const int error = check_name(job.key, "key"); error != 0)
        return error;
    if (job.size > TW_DURABLE_PAYLOAD_MAX || (job.size > 0 && job.payload == nullptr))
        return refuse(-EINVAL, "the payload is null, or larger than 65536 bytes");
    const char *why = nullptr;
    if (const int error = check_schedule(job, why, dates); error != 0)
        return refuse(error, why);
    if (const int error = check_once(job); error != 0)
        return error;
    checked = job;
    if (job.size == 0)
        checked.payload = "";
    checked.due_ns = whole_microseconds(job.due_ns);
    checked.period_ns = whole_microseconds(job.period_ns);
    checked.within_ns = whole_microseconds(job.within_ns);
    checked.grace_ns = job.grace_ns != 0 ? whole_microseconds(job.grace_ns) : default_grace_ns;
    return 0;
}

}  // namespace tickwheel::durable
