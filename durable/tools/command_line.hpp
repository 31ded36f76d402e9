// The command line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <tickwheel/durable.h>

namespace tickwheel::jobs {

// In the order of `verbs` in command_line.cpp.
enum class verb {
    list,
    count,
    kinds,
    get,
    why,
    members,
    put,
    fire,
    remove,
    requeue,
    watch,
    report,
    metrics,
    setup
};

struct options {
    verb what = verb::list;
    std::optional<std::string> database;  // its address
    std::optional<std::string> schema;

    std::optional<std::string> kind, key;

    // True if the options select jobs other than by their kind.
    bool has_filter() const { return states != 0 || group || late || older_than_ns; }

    unsigned states = 0;               // of tw_durable_filter
    std::optional<std::string> group;  // of the filter, and for put
    std::optional<std::string> after;
    std::optional<std::size_t> limit;
    bool json = false;
    bool late = false, by_due = false;
    std::optional<std::int64_t> older_than_ns;

    // For changes of many jobs.
    bool dry_run = false, yes = false;

    std::optional<std::string> file;  // for report

    // For put.
    std::optional<std::int64_t> in_ns, at_ns, every_ns, grace_ns, within_ns;
    std::optional<std::string> cron, zone, payload, payload_file, waits_for;
    tw_durable_missed missed = TW_DURABLE_COALESCE;
    bool keep = false;

    // For setup.
    std::optional<std::string> role;

    // For watch.
    std::int64_t every_look_ns = TW_SECOND;
    bool once = false;
};

extern const char help[];

// Reads the words after the program's name. Without --database, the address comes from the environment.
// Throws bad_usage.
options read_options(const std::vector<std::string> &words);

}  // namespace tickwheel::jobs
