// See entry.hpp.
#include "entry.hpp"

#include <algorithm>
#include <string_view>

#include "moments.hpp"
#include "plain.hpp"

namespace tickwheel::jobs {

namespace {

constexpr std::size_t widest_payload = 60;  // in a table; `get` shows all of the payload

const char *name_of(tw_durable_missed missed) {
    return missed == TW_DURABLE_BURST ? "burst" : missed == TW_DURABLE_SKIP ? "skip" : "coalesce";
}

std::string plain_or_nothing(const char *text) { return text != nullptr ? plain(text) : ""; }

std::string_view payload_of(const tw_durable_job &job) {
    return job.size != 0 ? std::string_view(static_cast<const char *>(job.payload), job.size) : "";
}

// At most `most` bytes, cut after a whole character.
std::string_view beginning(std::string_view bytes, std::size_t most) {
    if (bytes.size() <= most)
        return bytes;
    while (most > 0 && (bytes[most] & 0xC0) == 0x80)
        --most;
    return bytes.substr(0, most);
}

// The payload for a table cell. Reads no more bytes than can be seen.
std::string short_payload(std::string_view bytes, std::size_t most) {
    const std::string_view first = beginning(bytes, most);
    return cut(plain_payload(first) + (first.size() < bytes.size() ? "..." : ""), most);
}

bool is_periodic(const tw_durable_job &job) { return job.period_ns != 0 || job.cron != nullptr; }

std::string schedule_of(const tw_durable_job &job) {
    if (job.cron == nullptr)
        return job.period_ns != 0 ? "every " + duration(job.period_ns) : "";
    return plain(job.cron) + (job.zone != nullptr ? " " + plain(job.zone) : "");
}

// When the job can fire; a failed job does not wait for that, and of a waiting job it is not known.
std::string when(const tw_durable_entry &entry, std::int64_t now_ns) {
    if (entry.state == TW_DURABLE_WAITING)
        return "";
    return relative(entry.ready_ns, now_ns, entry.state == TW_DURABLE_FAILED ? "ago" : "late");
}

std::string line(const char *name, const std::string &text) {
    std::string all = name;
    all += ':';
    all.append(all.size() < 11 ? 11 - all.size() : 1, ' ');
    return all + text + '\n';
}

std::string json_or_null(const char *text) { return text != nullptr ? json(text) : "null"; }

// In seconds, with all digits that the database stores.
std::string json_seconds(std::int64_t ns) {
    const std::string digits = std::to_string(ns / 1000 % 1'000'000);
    return std::to_string(ns / TW_SECOND) + '.' + std::string(6 - digits.size(), '0') + digits;
}

std::string json_schedule(const tw_durable_job &job) {
    if (!is_periodic(job))
        return "";
    std::string all;
    if (job.cron != nullptr)
        all = ", \"cron\": " + json(job.cron) + ", \"zone\": " + json_or_null(job.zone);
    else
        all = ", \"period_s\": " + json_seconds(job.period_ns);
    return all + ", \"missed\": " + json(name_of(job.missed)) +
           ", \"grace_s\": " + json_seconds(job.grace_ns);
}

std::string json_payload(std::string_view bytes) {
    return is_utf8(bytes) ? "\"payload\": " + json(bytes) : "\"payload_hex\": \"" + hex(bytes) + '"';
}

}  // namespace

const char *name_of(tw_durable_state state) {
    switch (state) {
    case TW_DURABLE_PENDING:
        return "pending";
    case TW_DURABLE_HELD:
        return "held";
    case TW_DURABLE_STARTED:
        return "started";
    case TW_DURABLE_FAILED:
        return "failed";
    case TW_DURABLE_GIVEN_UP:
        return "given_up";
    case TW_DURABLE_WAITING:
        return "waiting";
    }
    return "unknown";
}

std::vector<std::string> heads() {
    return {"KIND",     "KEY",   "STATE",     "DUE",    "WHEN",    "FAILED TRIES",
            "SCHEDULE", "GROUP", "WAITS FOR", "HOLDER", "PAYLOAD", "ERROR"};
}

std::vector<std::string> row(const tw_durable_entry &entry, std::int64_t now_ns, std::size_t most) {
    const tw_durable_job &job = entry.job;
    return {cut(plain(job.kind), most),
            cut(plain(job.key), most),
            name_of(entry.state),
            local_time(job.due_ns),
            when(entry, now_ns),
            entry.attempts != 0 ? std::to_string(entry.attempts) : "",
            cut(schedule_of(job), most),
            cut(plain_or_nothing(job.group), most),
            cut(plain_or_nothing(job.waits_for), most),
            cut(plain_or_nothing(entry.holder), most),
            job.size != 0 ? short_payload(payload_of(job), std::min(most, widest_payload)) : "",
            cut(plain_or_nothing(entry.error), most)};
}

std::vector<std::string> narrow_row(const tw_durable_entry &entry, std::int64_t now_ns) {
    const char *const last = entry.holder != nullptr ? entry.holder : entry.error;
    return {cut(plain(entry.job.kind), 14), cut(plain(entry.job.key), 20), name_of(entry.state),
            when(entry, now_ns), cut(plain_or_nothing(last), 15)};
}

std::string described(const tw_durable_entry &entry, std::int64_t now_ns) {
    const tw_durable_job &job = entry.job;
    std::string all = line("kind", plain(job.kind)) + line("key", plain(job.key)) +
                      line("state", name_of(entry.state)) +
                      line("due", local_time(job.due_ns) + " (" + utc_time(job.due_ns) + ")");
    if (entry.state != TW_DURABLE_WAITING)
        all += line(entry.ready_ns != job.due_ns ? "next try" : "when", when(entry, now_ns));
    if (job.group != nullptr)
        all += line("group", plain(job.group));
    if (job.waits_for != nullptr)
        all += line("waits for", plain(job.waits_for));
    if (is_periodic(job))
        all += line("schedule", schedule_of(job)) +
               line("missed", std::string(name_of(job.missed)) + ", after " + duration(job.grace_ns));
    if (entry.attempts != 0)
        all += line("tries", std::to_string(entry.attempts) + " have failed");
    if (entry.error != nullptr)
        all += line("error", plain(entry.error));
    if (entry.holder != nullptr)
        all += line("holder", plain(entry.holder) + ", member " + std::to_string(entry.holder_id));
    if (entry.token != 0)
        all += line("token", std::to_string(entry.token));
    if (job.size != 0)
        all += line("payload", plain_payload(payload_of(job)));
    return all;
}

std::string json_of(const tw_durable_entry &entry) {
    const tw_durable_job &job = entry.job;
    return "{\"kind\": " + json(job.kind) + ", \"key\": " + json(job.key) + ", \"state\": \"" +
           name_of(entry.state) + "\", \"due\": \"" + utc_time(job.due_ns) + "\", \"ready\": " +
           (entry.state != TW_DURABLE_WAITING ? '"' + utc_time(entry.ready_ns) + '"' : "null") +
           json_schedule(job) + ", \"group\": " + json_or_null(job.group) +
           ", \"waits_for\": " + json_or_null(job.waits_for) +
           ", \"attempts\": " + std::to_string(entry.attempts) +
           ", \"token\": " + std::to_string(entry.token) + ", \"holder\": " + json_or_null(entry.holder) +
           ", \"holder_id\": " + (entry.holder_id != 0 ? std::to_string(entry.holder_id) : "null") +
           ", \"error\": " + json_or_null(entry.error) + ", " + json_payload(payload_of(job)) + "}";
}

}  // namespace tickwheel::jobs
