// The verb metrics: what the database contains, in the text format of Prometheus, version 0.0.4.
#include <cinttypes>
#include <cstdio>
#include <functional>

#include "census.hpp"
#include "verbs.hpp"

namespace tickwheel::jobs {

namespace {

// The value of a label. The database's names are UTF-8.
std::string label(const std::string &text) {
    std::string all = "\"";
    for (const char each : text) {
        if (each == '\n')
            all += "\\n";
        else if (each == '"' || each == '\\')
            all.append("\\").push_back(each);
        else
            all += each;
    }
    return all + '"';
}

void head(const char *name, const char *help) {
    std::printf("# HELP %s %s\n# TYPE %s gauge\n", name, help, name);
}

void print_states(const census &all) {
    head("tickwheel_jobs", "Jobs by kind and state; counting stops at 100000.");
    for (const kind_census &each : all.kinds) {
        const std::string kind = label(each.kind);
        const std::pair<const char *, std::uint64_t> states[] = {{"pending", each.pending.least},
                                                                 {"held", each.held},
                                                                 {"started", each.started},
                                                                 {"failed", each.failed.least},
                                                                 {"given_up", each.given_up.least}};
        for (const auto &[state, count] : states)
            std::printf("tickwheel_jobs{kind=%s,state=\"%s\"} %" PRIu64 "\n", kind.c_str(), state, count);
    }
}

void print_each(const census &all, const char *name, const char *help,
                const std::function<std::string(const kind_census &)> &value) {
    head(name, help);
    for (const kind_census &each : all.kinds)
        std::printf("%s{kind=%s} %s\n", name, label(each.kind).c_str(), value(each).c_str());
}

std::string seconds(std::int64_t ns) {
    char text[32];
    std::snprintf(text, sizeof text, "%" PRId64 ".%06" PRId64, ns / TW_SECOND, ns % TW_SECOND / 1000);
    return text;
}

}  // namespace

int metrics(const options &o) {
    const connection to(o);
    const census all(to, nullptr);
    print_states(all);
    print_each(all, "tickwheel_jobs_late", "Pending jobs that are due.",
               [](const kind_census &each) { return std::to_string(each.late.least); });
    print_each(all, "tickwheel_jobs_oldest_seconds",
               "For how long the first of them has been due; 0: none is.", [&](const kind_census &each) {
                   return seconds(each.first_ready_ns < all.now_ns ? all.now_ns - each.first_ready_ns : 0);
               });
    print_each(all, "tickwheel_jobs_handlers", "Processes that are alive and handle the kind.",
               [](const kind_census &each) { return std::to_string(each.handled_by); });
    head("tickwheel_members", "Processes that handle jobs, by whether their leases last.");
    std::printf("tickwheel_members{is=\"alive\"} %zu\ntickwheel_members{is=\"silent\"} %zu\n", all.alive,
                all.members.size() - all.alive);
    return all_is_well;
}

}  // namespace tickwheel::jobs
