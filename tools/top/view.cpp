// See view.hpp.
#include "view.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdarg>
#include <cstdio>

#include "observe/text.hpp"

namespace tickwheel::top {

namespace {

// NOLINTNEXTLINE(cert-dcl50-cpp)
[[gnu::format(printf, 1, 2)]] std::string print(const char *format, ...) {
    char line[256];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    return line;
}

std::string duration(std::int64_t ns) { return observe::short_duration(ns).text; }
std::string time_left(std::int64_t ns) { return ns < 0 ? "overdue" : duration(ns); }

// Pads or cuts a text to that many columns, counting characters.
std::string column(std::string text, std::size_t columns) {
    const auto is_first = [](char byte) { return (byte & 0xC0) != 0x80; };
    const auto width = static_cast<std::size_t>(std::count_if(text.begin(), text.end(), is_first));
    return width < columns ? text + std::string(columns - width, ' ') : cut(text, columns);
}

// How much a counter has grown since an earlier sample. If the runtime started again in between, it counts
// from 0.
std::uint64_t more(std::uint64_t now, std::uint64_t before) { return now >= before ? now - before : now; }

tw_histogram more(const tw_histogram &now, const tw_histogram *before) {
    tw_histogram since = now;
    if (before != nullptr)
        for (unsigned i = 0; i < TW_BUCKETS; ++i)
            since.counts[i] = more(now.counts[i], before->counts[i]);
    return since;
}

std::uint64_t total(const tw_histogram &of) {
    std::uint64_t sum = 0;
    for (const std::uint64_t count : of.counts)
        sum += count;
    return sum;
}

std::string histogram_line(const char *name, const tw_histogram &now, const tw_histogram *before) {
    const tw_histogram since = more(now, before);
    if (total(since) == 0)
        return print("  %-22s %12" PRIu64 " %10s %10s %10s", name, total(now), "-", "-",
                     duration(now.max_ns).c_str());
    return print("  %-22s %12" PRIu64 " %10s %10s %10s", name, total(now),
                 duration(tw_histogram_quantile(&since, 0.5)).c_str(),
                 duration(tw_histogram_quantile(&since, 0.99)).c_str(), duration(now.max_ns).c_str());
}

struct rated_label {
    const label_row *row;
    double rate;
};

const label_row *same_label(const stats *in, const label_row &row) {
    if (in != nullptr)
        for (const label_row &each : in->labels)
            if (each.label == row.label)
                return &each;
    return nullptr;
}

std::string name_of(const std::optional<std::string> &label) { return label ? *label : "(no label)"; }

std::vector<rated_label> by_rate(const stats &now, const stats *before, double seconds) {
    std::vector<rated_label> labels;
    for (const label_row &row : now.labels) {
        const label_row *const former = same_label(before, row);
        const std::uint64_t fires = more(row.fires, former != nullptr ? former->fires : 0);
        if (row.fires != 0 || row.cancels != 0)
            labels.push_back({&row, before != nullptr ? static_cast<double>(fires) / seconds : 0});
    }
    std::stable_sort(labels.begin(), labels.end(), [](const rated_label &a, const rated_label &b) {
        return a.rate != b.rate ? a.rate > b.rate : a.row->fires > b.row->fires;
    });
    return labels;
}

std::string label_line(const rated_label &label) {
    const label_row &row = *label.row;
    const std::int64_t mean = row.fires != 0 ? row.sum_ns / static_cast<std::int64_t>(row.fires) : 0;
    return "  " + column(name_of(row.label), 22) +
           print(" %12" PRIu64 " %10.1f %10" PRIu64 " %10" PRIu64 " %10s %10s", row.fires, label.rate,
                 row.cancels, row.overruns, duration(mean).c_str(), duration(row.max_ns).c_str());
}

std::string timer_line(const timer_row &timer) {
    const std::string period = timer.period_ns != 0 ? duration(timer.period_ns) : "once";
    return "  " + column(name_of(timer.label), 22) +
           print(" %12s %10s %10s", time_left(timer.remaining_ns).c_str(), period.c_str(),
                 timer.kind.c_str());
}

}  // namespace

std::string cut(const std::string &line, std::size_t columns) {
    std::size_t width = 0;
    for (std::size_t at = 0; at < line.size(); ++at)
        if ((line[at] & 0xC0) != 0x80 && ++width > columns)
            return line.substr(0, at);
    return line;
}

std::vector<std::string> show(const sample &now, const sample *before) {
    const stats &told = now.told, *const former = before != nullptr ? &before->told : nullptr;
    const double seconds = before != nullptr ? std::max(now.at - before->at, 1e-3) : 1;
    const std::vector<rated_label> labels = by_rate(told, former, seconds);
    double fires = 0;
    for (const rated_label &each : labels)
        fires += each.rate;
    const double wakeups =
        former != nullptr ? static_cast<double>(more(told.wakeups, former->wakeups)) / seconds : 0;
    std::vector<std::string> lines;
    lines.push_back(told.process + print(" (%" PRIu64 ") \"", told.pid) + told.runtime +
                    "\": " + told.driver + ", " + told.clock + ", ticks of " +
                    duration(static_cast<std::int64_t>(told.tick_ns)));
    lines.push_back(
        print("  %.1f fires/s, %.1f wake-ups/s, %" PRIu64 " pending", fires, wakeups, told.pending) +
        (now.timers.empty() ? "" : ", next: " + time_left(now.timers.front().remaining_ns)));
    lines.push_back("");
    lines.push_back(print("  %-22s %12s %10s %10s %10s", "", "times", "p50", "p99", "longest"));
    static constexpr const char *causes[] = {"late, woken late", "late, by callbacks", "late, by the budget"};
    for (unsigned i = 0; i < TW_LATE_CAUSES; ++i)
        lines.push_back(
            histogram_line(causes[i], told.late[i], former != nullptr ? &former->late[i] : nullptr));
    lines.push_back(
        histogram_line("callbacks ran for", told.ran, former != nullptr ? &former->ran : nullptr));
    lines.push_back("");
    lines.push_back(print("  %-22s %12s %10s %10s %10s %10s %10s", "label", "fires", "fires/s", "cancels",
                          "overruns", "mean", "longest"));
    for (const rated_label &each : labels)
        lines.push_back(label_line(each));
    if (!now.timers.empty()) {
        lines.push_back("");
        lines.push_back(print("  %-22s %12s %10s %10s", "due next", "in", "every", "kind"));
        for (const timer_row &each : now.timers)
            lines.push_back(timer_line(each));
    }
    return lines;
}

}  // namespace tickwheel::top
