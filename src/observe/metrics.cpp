// A runtime's counters in the text format of Prometheus, version 0.0.4. Any thread.
//
// Names end in their unit, and counters in _total; durations are in seconds. A reader rejects the whole
// output if one byte is not UTF-8, a number has a decimal comma, or a row appears twice. So this file escapes
// texts, prints numbers without the program's locale, and merges labels with equal text into one row.
#include <cinttypes>

#include "counters.hpp"
#include "escaped.hpp"
#include "writing.hpp"

using namespace tickwheel;
using namespace tickwheel::observe;

namespace {

// An exact duration in seconds.
struct seconds {
    char text[32];
    explicit seconds(std::int64_t ns) {
        constexpr std::int64_t second = 1'000'000'000;
        std::snprintf(text, sizeof text, "%" PRId64 ".%09" PRId64, ns / second, ns % second);
    }
};

void add_to(tw_label_counts &sum, const tw_label_counts &more) {
    sum.fires += more.fires;
    sum.cancels += more.cancels;
    sum.overruns += more.overruns;
    sum.callback_sum_ns += more.callback_sum_ns;
    if (more.callback_max_ns > sum.callback_max_ns)
        sum.callback_max_ns = more.callback_max_ns;
}

// The text of a label; empty for timers without one.
const char *text_of(const tw_label_counts &counts) { return counts.label != nullptr ? counts.label : ""; }

// Merges rows whose labels are written alike: a program's label may be empty, may read like the row of
// further labels, or may differ from another only in bytes that need escaping. Returns how many rows remain.
int merge_equal(tw_label_counts *counts, int rows) {
    int kept = 0;
    for (int row = 0; row < rows; ++row) {
        int same = 0;
        while (same < kept && !are_written_alike(text_of(counts[same]), text_of(counts[row])))
            ++same;
        if (same < kept)
            add_to(counts[same], counts[row]);
        else
            counts[kept++] = counts[row];
    }
    return kept;
}

class metrics {
  public:
    metrics(tw_runtime &rt, const char *name, text_out &out) : rt_(rt), name_(name), out_(out) {}

    void write_all() {
        const tw_stats stats = stats_of(rt_);
        write_counters(stats);
        write_labels();
        head("tickwheel_callback_seconds", "histogram", "How long callbacks ran.");
        write_histogram("tickwheel_callback_seconds", nullptr, stats.callbacks);
        head("tickwheel_late_seconds", "histogram", "How late fires began after their deadline, by cause.");
        write_histogram("tickwheel_late_seconds", "waking", stats.late[TW_LATE_WAKING]);
        write_histogram("tickwheel_late_seconds", "callbacks", stats.late[TW_LATE_CALLBACKS]);
        write_histogram("tickwheel_late_seconds", "budget", stats.late[TW_LATE_BUDGET]);
    }

  private:
    void head(const char *metric, const char *type, const char *help) {
        out_.print("# HELP %s %s\n# TYPE %s %s\n", metric, help, metric, type);
    }

    // Begins a row, with its labels.
    void row(const char *metric, const char *key = nullptr, const char *value = nullptr,
             const char *limit = nullptr) {
        out_.print("%s", metric);
        const char *separator = "{";
        const auto print_pair = [&](const char *name, const char *text) {
            if (text == nullptr)
                return;
            out_.print("%s%s=\"", separator, name);
            put_for_prometheus(out_, text);
            out_.print("\"");
            separator = ",";
        };
        print_pair("runtime", name_);
        print_pair(key, value);
        print_pair("le", limit);
        out_.print(*separator == ',' ? "} " : " ");
    }

    void write_counter(const char *metric, const char *help, std::uint64_t count) {
        head(metric, "counter", help);
        row(metric);
        out_.print("%" PRIu64 "\n", count);
    }

    void write_counters(const tw_stats &stats) {
        head("tickwheel_pending", "gauge", "Pending timers.");
        row("tickwheel_pending");
        out_.print("%zu\n", tw_runtime_count(&rt_));
        write_counter("tickwheel_wakeups_total", "How often the thread woke up.", stats.wakeups);
        write_counter("tickwheel_wakes_total", "How often a call woke the thread.", stats.wakes);
        write_counter("tickwheel_clock_sets_total", "How often the wall clock was found set back.",
                      stats.clock_sets);
        write_counter("tickwheel_wait_errors_total", "How often the driver could not wait.",
                      stats.wait_errors);
    }

    void write_labels() {
        tw_label_counts counts[TW_LABELS];
        const int rows = merge_equal(counts, tw_runtime_labels(&rt_, counts, TW_LABELS));
        write_column("tickwheel_fires_total", "Fires.", counts, rows, &tw_label_counts::fires);
        write_column("tickwheel_cancels_total", "Fires that a call prevented.", counts, rows,
                     &tw_label_counts::cancels);
        write_column("tickwheel_overruns_total", "Missed fires of periodic timers.", counts, rows,
                     &tw_label_counts::overruns);
        head("tickwheel_label_callback_seconds_total", "counter", "How long callbacks ran, by label.");
        for (int i = 0; i < rows; ++i) {
            row("tickwheel_label_callback_seconds_total", "label", text_of(counts[i]));
            out_.print("%s\n", seconds(counts[i].callback_sum_ns).text);
        }
        head("tickwheel_label_callback_longest_seconds", "gauge", "The longest callback, by label.");
        for (int i = 0; i < rows; ++i) {
            row("tickwheel_label_callback_longest_seconds", "label", text_of(counts[i]));
            out_.print("%s\n", seconds(counts[i].callback_max_ns).text);
        }
    }

    void write_column(const char *metric, const char *help, const tw_label_counts *counts, int rows,
                      std::uint64_t tw_label_counts::*column) {
        head(metric, "counter", help);
        for (int i = 0; i < rows; ++i) {
            row(metric, "label", text_of(counts[i]));
            out_.print("%" PRIu64 "\n", counts[i].*column);
        }
    }

    void write_histogram(const char *metric, const char *cause, const tw_histogram &histogram) {
        char name[64];
        std::uint64_t sum = 0;
        std::snprintf(name, sizeof name, "%s_bucket", metric);
        for (unsigned bucket = 0; bucket < TW_BUCKETS; ++bucket) {
            sum += histogram.counts[bucket];
            const bool is_last = bucket == TW_BUCKETS - 1;
            row(name, "cause", cause, is_last ? "+Inf" : seconds(tw_bucket_limit(bucket)).text);
            out_.print("%" PRIu64 "\n", sum);
        }
        std::snprintf(name, sizeof name, "%s_sum", metric);
        row(name, "cause", cause);
        out_.print("%s\n", seconds(histogram.sum_ns).text);
        std::snprintf(name, sizeof name, "%s_count", metric);
        row(name, "cause", cause);
        out_.print("%" PRIu64 "\n", sum);
    }

    tw_runtime &rt_;
    const char *name_;
    text_out &out_;
};

}  // namespace

TW_API int tw_runtime_metrics(tw_runtime *rt, const char *name, tw_text *write, void *arg) {
    return write_text(rt, write, arg, [&](text_out &out) {
        metrics(*rt, name, out).write_all();
        return 0;
    });
}
