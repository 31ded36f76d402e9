// The server's answers about a runtime. Only the server's thread makes them.

#include <cinttypes>
#include <cstring>

#include "counters.hpp"
#include "escaped.hpp"
#include "inspect.hpp"

namespace tickwheel::observe {

namespace {

constexpr std::size_t longest_text = 64;  // bytes of a label in an answer

void collect(const char *text, std::size_t size, void *arg) {
    answer &reply = *static_cast<answer *>(arg);
    reply.is_cut = reply.is_cut || size > sizeof reply.text - reply.size;
    if (reply.is_cut)
        return;
    std::memcpy(reply.text + reply.size, text, size);
    reply.size += size;
}

// Ends the line with a text, or with `-` for none.
void put_last(text_out &out, const char *text) {
    if (text == nullptr) {
        out.print("-\n");
        return;
    }
    out.put('"');
    put_for_json(out, text, longest_text);
    out.print("\"\n");
}

const char *name_of(tw_clock clock) {
    switch (clock) {
    case TW_CLOCK_BOOT:
        return "boot";
    case TW_CLOCK_WALL:
        return "wall";
    case TW_CLOCK_VIRTUAL:
        return "virtual";
    default:
        return "monotonic";
    }
}

// --- stats -------------------------------------------------------------------------------

void put_runtime(tw_runtime &rt, const tw_stats &stats, text_out &out) {
    out.print("pid %d\nprocess ", ::getpid());
    put_last(out, program_invocation_short_name);
    out.print("runtime ");
    put_last(out, rt.thread_name);
    out.print("driver ");
    put_last(out, rt.driver->name);
    out.print("clock %s\ntick_ns %" PRIu64 "\npending %zu\nwakeups %" PRIu64 "\nwakes %" PRIu64
              "\nclock_sets %" PRIu64 "\nwait_errors %" PRIu64 "\n",
              name_of(rt.clock), rt.steady.unit.ns, tw_runtime_count(&rt), stats.wakeups, stats.wakes,
              stats.clock_sets, stats.wait_errors);
}

void put_labels(tw_runtime &rt, text_out &out) {
    tw_label_counts counts[TW_LABELS];
    const int rows = tw_runtime_labels(&rt, counts, TW_LABELS);
    for (int row = 0; row < rows; ++row) {
        const tw_label_counts &of = counts[row];
        out.print("label %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRId64 " %" PRId64 " ", of.fires, of.cancels,
                  of.overruns, of.callback_sum_ns, of.callback_max_ns);
        put_last(out, of.label);
    }
}

void put_histogram(const char *name, const tw_histogram &histogram, text_out &out) {
    out.print("%s %" PRId64 " %" PRId64, name, histogram.sum_ns, histogram.max_ns);
    for (const std::uint64_t count : histogram.counts)
        out.print(" %" PRIu64, count);
    out.print("\n");
}

void put_stats(tw_runtime &rt, text_out &out) {
    const tw_stats stats = stats_of(rt);
    put_runtime(rt, stats, out);
    put_histogram("ran", stats.callbacks, out);
    put_histogram("late_waking", stats.late[TW_LATE_WAKING], out);
    put_histogram("late_callbacks", stats.late[TW_LATE_CALLBACKS], out);
    put_histogram("late_budget", stats.late[TW_LATE_BUDGET], out);
    put_labels(rt, out);
}

// --- pending -----------------------------------------------------------------------------

struct due_timer {
    std::int64_t remaining, period;
    const char *kind;
    const char *label;
};

// The visited timers that are due first, in order.
struct due_first {
    due_timer timers[inspect::most_timers];
    unsigned wanted, count;
};

int keep_if_early(const tw_entry *timer, void *arg) {
    due_first &first = *static_cast<due_first *>(arg);
    if (first.count == first.wanted && first.timers[first.count - 1].remaining <= timer->remaining_ns)
        return 0;
    unsigned place = first.count < first.wanted ? first.count++ : first.count - 1;
    for (; place > 0 && first.timers[place - 1].remaining > timer->remaining_ns; --place)
        first.timers[place] = first.timers[place - 1];
    first.timers[place] = {timer->remaining_ns, timer->period_ns,
                           timer->node != nullptr  ? "node"
                           : timer->key != nullptr ? "key"
                                                   : "handle",
                           timer->label};
    return 0;
}

void put_pending(tw_runtime &rt, unsigned wanted, text_out &out) {
    due_first first = {};
    first.wanted = wanted;
    if (wanted != 0)
        tw_runtime_each(&rt, keep_if_early, &first);
    for (unsigned i = 0; i < first.count; ++i) {
        const due_timer &timer = first.timers[i];
        out.print("timer %" PRId64 " %" PRId64 " %s ", timer.remaining, timer.period, timer.kind);
        put_last(out, timer.label);
    }
}

}  // namespace

void answer_request(tw_runtime &rt, const inspect::request &asked, answer &to) {
    to.size = 0;
    to.is_cut = false;
    text_out out(collect, &to);
    if (asked.what == inspect::request::stats)
        put_stats(rt, out);
    else if (asked.what == inspect::request::pending)
        put_pending(rt, asked.timers, out);
    out.print(asked.what == inspect::request::wrong ? "error\n" : "end\n");
}

}  // namespace tickwheel::observe
