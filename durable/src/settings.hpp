// The options of tw_durable_open with their defaults, shared by all parts of one tw_durable.
#pragma once

#include <string>

#include <tickwheel/durable.h>

namespace tickwheel::durable {

struct settings {
    std::string name;
    std::int64_t lease_ns, horizon_ns;
    std::int64_t poll_ns;         // 0: the membership chooses, by whether the database sends notifications
    std::uint32_t hold, backlog;  // `backlog` 0: as many as the workers run in a short time
    unsigned threads;
    tw_workers *workers;
    bool confirmed_only, single_thread;
    void (*on_event)(tw_durable_event, const char *, void *);
    void *on_event_arg;
};

// The local steady clock: time since boot, or the time of a runtime.
struct local_clock {
    tw_runtime *virtual_time;  // null: time since boot

    std::int64_t now() const;
};

// The machine's time of day, which only people compare with the database's clock.
std::int64_t time_of_day();

// Copies the options that `settings` has, with defaults filled in. Returns 0 or -EINVAL, and notes why.
int complete(const tw_durable_options &options, settings &all);

}  // namespace tickwheel::durable
