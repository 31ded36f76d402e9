// The verb metrics: what the database contains, in the text format of Prometheus, version 0.0.4.
#include <cinttypes>
#include <cstdio>
#include <functional>

#include "census.hpp"
#include "src/prometheus_text.hpp"
#include "verbs.hpp"

namespace tickwheel::jobs {

namespace {

void head(const char *name, const char *help) {
    std::fputs(durable::head_text(name, "gauge", help).c_str(), stdout);
}

void print_states(const census &all) {
    head("tickwheel_jobs", "Jobs by kind and state; counting stops at 100000.");
    for (const kind_census &each : all.kinds) {
        const std::string kind = durable::label_text(each.kind);
        const std::pair<const char *, std::uint64_t> states[] = {
            {"pending", each.pending.least},   {"held", each.held},
            {"started", each.started},         {"failed", each.failed.least},
            {"given_up", each.given_up.least}, {"waiting", each.waiting.least}};
        for (const auto &[state, count] : states)
            std::printf("tickwheel_jobs{kind=%s,state=\"%s\"} %" PRIu64 "\n", kind.c_str(), state, count);
    }
}

void print_each(const census &all, const char *name, const char *help,
                const std::function<std::string(const kind_census &)> &value) {
    head(name, help);
    for (const kind_census &each : all.kinds)
        std::printf("%s{kind=%s} %s\n", name, durable::label_text(each.kind).c_str(), value(each).c_str());
}

}  // namespace

int metrics(const options &o) {
    const connection to(o);
    const census all(to, nullptr);
    print_states(all);
    print_each(all, "tickwheel_jobs_late", "Jobs that are due and that no process holds.",
               [](const kind_census &each) { return std::to_string(each.late.least); });
    print_each(all, "tickwheel_jobs_oldest_seconds",
               "For how long the first of them has been due; 0: none is.", [&](const kind_census &each) {
                   return durable::seconds_text(
                       each.first_ready_ns < all.now_ns ? all.now_ns - each.first_ready_ns : 0);
               });
    print_each(all, "tickwheel_jobs_handlers", "Processes that are alive and handle the kind.",
               [](const kind_census &each) { return std::to_string(each.handled_by); });
    head("tickwheel_members", "Processes that handle jobs, by whether their leases last.");
    std::printf("tickwheel_members{is=\"alive\"} %zu\ntickwheel_members{is=\"silent\"} %zu\n", all.alive,
                all.members.size() - all.alive);
    return all_is_well;
}

}  // namespace tickwheel::jobs
