// Writes a recording in Chrome's trace event format. Any thread, even while fires are being recorded.
#include <dlfcn.h>
#include <tickwheel/trace.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstring>

#include "escaped.hpp"
#include "runtime/labels.hpp"
#include "trace.hpp"
#include "writing.hpp"

// Weak: if dladdr is not in the C library itself, programs need not link with the library that has it.
// NOLINTNEXTLINE(readability-redundant-declaration)
extern "C" int dladdr(const void *address, Dl_info *info) noexcept __attribute__((weak));

using namespace tickwheel;
using namespace tickwheel::observe;

namespace {

// Converts stopwatch readings to CLOCK_MONOTONIC, using two moments at which both were read. A longer
// recording gives a more exact result. The conversion keeps the order of readings.
class time_scale {
  public:
    explicit time_scale(const clock_pair &began) : began_(began) {
        constexpr std::int64_t long_enough = 1'000'000;  // compared with two readings of 50 ns
        const clock_pair now = clock_pair::now();
        const std::int64_t ns = now.monotonic_ns - began.monotonic_ns;
        const std::uint64_t counts = now.counter - began.counter;
        constexpr runtime::stopwatch::reading many = runtime::stopwatch::reading{1} << 32;
        rate_ = ns >= long_enough && counts != 0
                    ? static_cast<double>(ns) / static_cast<double>(counts)
                    : static_cast<double>(runtime::stopwatch::between(0, many)) / static_cast<double>(many);
    }
    std::int64_t monotonic_ns(runtime::stopwatch::reading at) const {
        const auto counts = static_cast<std::int64_t>(at - began_.counter);
        return began_.monotonic_ns + static_cast<std::int64_t>(static_cast<double>(counts) * rate_);
    }

  private:
    const clock_pair &began_;
    double rate_;  // nanoseconds per count
};

// A number of microseconds, with a decimal point in every locale.
struct microseconds {
    char text[32];
    explicit microseconds(std::int64_t ns) {
        std::snprintf(text, sizeof text, "%s%" PRIu64 ".%03u", ns < 0 ? "-" : "", size(ns) / 1000,
                      static_cast<unsigned>(size(ns) % 1000));
    }
    static std::uint64_t size(std::int64_t ns) {
        return ns < 0 ? -static_cast<std::uint64_t>(ns) : static_cast<std::uint64_t>(ns);
    }
};

class trace_writer {
  public:
    trace_writer(tw_runtime &rt, const trace &recording, text_out &out)
        : rt_(rt), trace_(recording), out_(out), scale_(recording.began) {}

    std::int64_t write_all() {
        const std::uint64_t first = trace_.ring.oldest(), end = trace_.ring.written();
        out_.print("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
        write_names();
        std::int64_t written = 0;
        for (std::uint64_t number = first; number < end; ++number) {
            kept_fire fire;
            if (!trace_.ring.get(number, fire))
                continue;
            write_fire(fire);
            ++written;
        }
        out_.print("],\n\"otherData\":{\"recorder\":\"tickwheel\",\"driver\":\"");
        put_for_json(out_, rt_.driver->name);
        out_.print("\",\"tick_ns\":%" PRIu64 ",\"fires_written\":%" PRId64 ",\"fires_lost\":%" PRIu64 "}}\n",
                   rt_.steady.unit.ns, written,
                   end - trace_.ring.forgotten() - static_cast<std::uint64_t>(written));
        return written;
    }

  private:
    void begin_event(const char *phase) {
        out_.print("%s{\"ph\":\"%s\",\"pid\":%d", separator_, phase, process_);
        separator_ = ",\n";
    }

    void write_name(const char *what, int thread, const char *name) {
        begin_event("M");
        out_.print(",\"tid\":%d,\"name\":\"%s\",\"args\":{\"name\":\"", thread, what);
        put_for_json(out_, name);
        out_.print("\"}}");
    }

    void write_names() {
        write_name("process_name", process_, program_invocation_short_name);
        for (const traced_thread &each : trace_.threads)
            if (each.has_name.load(std::memory_order_acquire))
                write_name("thread_name", each.id.load(std::memory_order_relaxed), each.name);
    }

    // Writes the function's symbol if it is public; else its file and offset, for addr2line.
    void put_function(std::uint64_t address) {
        Dl_info info = {};
        // NOLINTNEXTLINE(performance-no-int-to-ptr): the address was a pointer, and is only looked up
        const auto *const function = reinterpret_cast<const void *>(static_cast<std::uintptr_t>(address));
        const bool is_known = dladdr != nullptr && dladdr(function, &info) != 0;
        if (is_known && info.dli_sname != nullptr && info.dli_saddr == function) {
            put_for_json(out_, info.dli_sname);
        } else if (is_known && info.dli_fname != nullptr) {
            const char *const slash = std::strrchr(info.dli_fname, '/');
            put_for_json(out_, slash != nullptr ? slash + 1 : info.dli_fname);
            out_.print("+0x%" PRIx64, address - reinterpret_cast<std::uintptr_t>(info.dli_fbase));
        } else {
            out_.print("0x%" PRIx64, address);
        }
    }

    void put_name(const kept_fire &fire, unsigned label) {
        if (const char *const text = runtime::label_text(rt_, label); text != nullptr)
            put_for_json(out_, text);
        else
            put_function(fire.function);
    }

    static const char *name_of(runtime::run_kind kind) {
        return kind == runtime::run_kind::on_worker   ? "on a worker"
               : kind == runtime::run_kind::passed_on ? "passed on"
                                                      : "fired";
    }

    static const char *name_of(tw_late_cause cause) {
        return cause == TW_LATE_BUDGET ? "budget" : cause == TW_LATE_CALLBACKS ? "callbacks" : "waking";
    }

    void write_fire(const kept_fire &fire) {
        const fire_tags tags = fire_tags::of(fire.tags);
        const std::int64_t begun = scale_.monotonic_ns(fire.begun);
        begin_event("X");
        out_.print(",\"tid\":%d,\"cat\":\"%s\",\"ts\":%s,\"dur\":%s,\"name\":\"", tags.thread,
                   name_of(tags.kind), microseconds(begun).text,
                   microseconds(scale_.monotonic_ns(fire.ended) - begun).text);
        put_name(fire, tags.label);
        out_.print("\",\"args\":{\"function\":\"");
        put_function(fire.function);
        out_.print("\",\"due_ns\":\"%" PRId64 "\"", fire.due);  // string: many readers round numbers
        if (fire.late >= 0)
            out_.print(",\"late_us\":%s", microseconds(fire.late).text);
        if (tags.kind != runtime::run_kind::on_worker)
            out_.print(",\"cause\":\"%s\"", name_of(tags.cause));
        if (fire.timer != 0)
            out_.print(",\"%s\":\"0x%" PRIx64 "\"", tags.is_handle ? "handle" : "node", fire.timer);
        if (tags.overruns != 0)
            out_.print(",\"overruns\":%u", tags.overruns);
        out_.print("}}");
        if (tags.kind != runtime::run_kind::on_worker)
            write_counter(begun, fire.late);
    }

    void write_counter(std::int64_t at, std::int64_t late) {
        begin_event("C");
        out_.print(",\"ts\":%s,\"name\":\"late\",\"args\":{\"us\":%s}}", microseconds(at).text,
                   microseconds(late).text);
    }

    tw_runtime &rt_;
    const trace &trace_;
    text_out &out_;
    const time_scale scale_;
    const int process_ = ::getpid();
    const char *separator_ = "";
};

}  // namespace

TW_API int64_t tw_trace_write(tw_runtime *rt, tw_text *write, void *arg) {
    return write_text(rt, write, arg, [&](text_out &out) -> std::int64_t {
        const trace *const recording = trace_of(*rt);
        if (recording == nullptr)
            return runtime::refuse(-ENOENT, "nothing was recorded; see tw_trace_start");
        return trace_writer(*rt, *recording, out).write_all();
    });
}
