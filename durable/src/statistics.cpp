// Statistics of this process: the functions of durable.h under "seeing". They do not ask the database.
#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <string>

#include "connection.hpp"
#include "explain.hpp"
#include "guard.hpp"
#include "tw_durable.hpp"

namespace tickwheel::durable {

namespace {

tw_durable_counts look_at(const tw_durable &durable) {
    const job_counters &counts = durable.counts;
    tw_durable_counts now = {};
    now.claimed = counts.claimed;
    now.started = counts.started;
    now.unconfirmed = counts.unconfirmed;
    now.done = counts.done;
    now.again = counts.again;
    now.retried = counts.retried;
    now.failed = counts.failed;
    now.skipped = counts.skipped;
    now.taken_back = counts.taken_back;
    now.unmatched = counts.unmatched;
    now.connects = counts.connects;
    now.errors = counts.errors;
    now.lost_leases = counts.lost_leases;
    now.released = counts.released;
    now.late_count = counts.late_count;
    now.late_sum_ns = counts.late_sum_ns;
    now.late_max_ns = counts.late_max_ns;
    static_assert(std::size(decltype(now.late_by){}) == std::size(decltype(counts.late_by){}));
    std::copy(std::begin(counts.late_by), std::end(counts.late_by), now.late_by);
    now.clock_uncertainty_ns = durable.its_clock.is_known() ? durable.its_clock.uncertainty() : -1;
    if (durable.member == nullptr)
        return now;
    const member &own = *durable.member;
    const claimed_jobs::census held = own.jobs.count();
    now.held = held.held;
    now.running = held.running;
    now.unsettled = held.unsettled;
    now.connected = own.membership.is_connected() ? 1 : 0;
    const trouble found = own.troubles.now();
    now.error = found.error;
    static_assert(sizeof now.why == sizeof found.why);
    std::memcpy(now.why, found.why, sizeof now.why);
    now.lease_ns = own.lease.remaining(own.lease.member().id, durable.clock.now());
    return now;
}

class page {
  public:
    page(tw_text *write, void *arg) : write_(write), arg_(arg) {}

    // Prints a piece of text, and cuts it to 255 characters.
    // NOLINTNEXTLINE(cert-dcl50-cpp): the compiler checks its arguments
    [[gnu::format(printf, 2, 3)]] void print(const char *format, ...) {
        char text[256];
        va_list values;
        va_start(values, format);
        const int size = std::vsnprintf(text, sizeof text, format, values);  // NOLINT(clang-analyzer-valist*)
        va_end(values);
        put({text, static_cast<std::size_t>(std::clamp<int>(size, 0, sizeof text - 1))});
    }

    // Prints a text from elsewhere, with a question mark for each character that would move a terminal's
    // cursor.
    void print_text(std::string text) {
        for (char &c : text)
            if (static_cast<unsigned char>(c) < ' ' || c == 0x7f)
                c = '?';
        put(text);
    }

  private:
    void put(const std::string &text) { write_(text.data(), text.size(), arg_); }

    tw_text *write_;
    void *arg_;
};

double in_ms(std::int64_t ns) { return static_cast<double>(ns) / 1e6; }

void print_state(const tw_durable &durable, const tw_durable_counts &now, page &out) {
    out.print("durable jobs, store \"%s\", schema \"%s\", member \"", durable.database.store->scheme,
              durable.database.schema.c_str());
    out.print_text(durable.settings.name);
    out.print("\"\n");
    out.print("%s; lease: %.1f s left; its clock is ",
              now.connected == 0   ? "not connected"
              : is_loss(now.error) ? "connected, but the connection for starts and answers is lost"
              : now.error != 0     ? "connected, but the database refuses"
                                   : "connected",
              in_ms(now.lease_ns) / 1000);
    if (now.clock_uncertainty_ns >= 0)
        out.print("known to %.3f ms\n", in_ms(now.clock_uncertainty_ns));
    else
        out.print("not known\n");
    if (now.why[0] != 0) {
        out.print("the last error was: ");
        out.print_text(now.why);
        out.print("\n");
    }
    out.print("holds %zu, %zu of them started; %zu answers to settle\n", now.held, now.running,
              now.unsettled);
}

void print_counts(const tw_durable_counts &now, page &out) {
    out.print("claimed %" PRIu64 ", started %" PRIu64 " (unconfirmed %" PRIu64 "), taken back %" PRIu64 "\n",
              now.claimed, now.started, now.unconfirmed, now.taken_back);
    out.print("done %" PRIu64 ", again %" PRIu64 ", retried %" PRIu64 ", failed %" PRIu64 ", skipped %" PRIu64
              ", unmatched %" PRIu64 "\n",
              now.done, now.again, now.retried, now.failed, now.skipped, now.unmatched);
    out.print("connected %" PRIu64 " times, errors %" PRIu64 ", leases lost %" PRIu64
              ", jobs of others set free %" PRIu64 "\n",
              now.connects, now.errors, now.lost_leases, now.released);
    if (now.late_count != 0)
        out.print("late by %.3f ms on average, %.3f ms at most\n",
                  in_ms(now.late_sum_ns) / static_cast<double>(now.late_count), in_ms(now.late_max_ns));
}

const char *name_of(stage at) {
    switch (at) {
    case stage::waiting:
        return "waiting";
    case stage::ready:
        return "ready";
    case stage::confirming:
        return "confirming";
    case stage::aside:
        return "aside";
    case stage::queued:
        return "queued";
    case stage::running:
        return "running";
    default:
        return "running, answers later";
    }
}

void print_jobs(const tw_durable &durable, page &out) {
    if (durable.member == nullptr || !durable.its_clock.is_known())
        return;
    std::vector<claimed_jobs::sketch> all = durable.member->jobs.sketches();
    std::sort(all.begin(), all.end(), [](const auto &a, const auto &b) { return a.ready_ns < b.ready_ns; });
    const std::int64_t now = durable.its_clock.at(durable.clock.now());
    out.print("\n%12s  %-10s  %20s  %s\n", "ready in ms", "stage", "token", "kind and key");
    for (const claimed_jobs::sketch &job : all) {
        out.print("%12.1f  %-10s  %20" PRId64 "  ", in_ms(job.ready_ns - now), name_of(job.at), job.token);
        out.print_text(job.kind + "  " + job.key);
        out.print("\n");
    }
}

}  // namespace

}  // namespace tickwheel::durable

using namespace tickwheel::durable;

TW_API int tw_durable_stats(tw_durable *durable, tw_durable_counts *stats) {
    if (const int error = check_usable(durable); error != 0)
        return error;
    if (stats == nullptr)
        return refuse(-EINVAL, "the place for the statistics is null");
    *stats = look_at(*durable);
    return 0;
}

TW_API int tw_durable_dump(tw_durable *durable, tw_text *write, void *arg) {
    if (const int error = check_usable(durable); error != 0)
        return error;
    if (write == nullptr)
        return refuse(-EINVAL, "the function to write with is null");
    return guarded([&] {
        page out(write, arg);
        const tw_durable_counts now = look_at(*durable);
        print_state(*durable, now, out);
        print_counts(now, out);
        print_jobs(*durable, out);
        return 0;
    });
}
