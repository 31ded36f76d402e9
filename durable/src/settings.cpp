#include "settings.hpp"

#include <unistd.h>

#include <cerrno>
#include <ctime>

#include "check_job.hpp"
#include "explain.hpp"

namespace tickwheel::durable {

namespace {

// Replaces 0 by the default. Returns false if the value is out of range.
template <class Value> bool choose(Value given, Value by_default, Value least, Value most, Value &chosen) {
    chosen = given != 0 ? given : by_default;
    return chosen >= least && chosen <= most;
}

std::string name_of_process() {
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    return std::string(host) + " " + std::to_string(getpid());
}

}  // namespace

std::int64_t time_of_day() {
    timespec read{};
    clock_gettime(CLOCK_REALTIME, &read);
    return read.tv_sec * TW_SECOND + read.tv_nsec;
}

std::int64_t local_clock::now() const {
    if (virtual_time != nullptr)
        return tw_runtime_now(virtual_time);
    timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return now.tv_sec * TW_SECOND + now.tv_nsec;
}

int complete(const tw_durable_options &options, settings &all) {
    constexpr std::int64_t ms = TW_MILLISECOND, s = TW_SECOND;
    if (options.name != nullptr)
        if (const int error = check_name(options.name, "name of the process"); error != 0)
            return error;
    all.name = options.name != nullptr ? options.name : name_of_process();
    if (!choose(options.lease_ns, 15 * s, s, 3600 * s, all.lease_ns))
        return refuse(-EINVAL, "the lease is shorter than 1 s, or longer than 1 h");
    if (options.poll_ns != 0 && (options.poll_ns < 10 * ms || options.poll_ns > 30 * s))
        return refuse(-EINVAL, "the poll is shorter than 10 ms, or longer than 30 s");
    all.poll_ns = options.poll_ns;
    if (!choose(options.horizon_ns, 2 * s, 10 * ms, 60 * s, all.horizon_ns))
        return refuse(-EINVAL, "the horizon is shorter than 10 ms, or longer than 1 min");
    if (!choose<std::uint32_t>(options.hold, 4096, 1, 1u << 20, all.hold))
        return refuse(-EINVAL, "`hold` is more than 2^20");
    all.backlog = options.backlog;
    if (!choose(options.threads, 4u, 1u, 256u, all.threads))
        return refuse(-EINVAL, "more than 256 threads");
    all.workers = options.workers;
    all.confirmed_only = options.confirmed_only != 0;
    all.single_thread = options.single_thread != 0;
    all.on_event = options.on_event;
    all.on_event_arg = options.on_event_arg;
    return 0;
}

}  // namespace tickwheel::durable
