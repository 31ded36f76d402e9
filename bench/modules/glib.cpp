// GLib: one source per timer, made and attached beforehand, then given a ready time. This is its
// fastest way. Each change of a ready time wakes the context with a system call.
#include <glib.h>

#include <string>

#include "../workloads.h"

namespace {

struct Source {
    GSource base;
    gint64 period;
};

class Glib {
  public:
    using Time = gint64;
    using Record = Source *;
    static constexpr bool virtual_time = false;

    Glib(std::size_t n, bench::Scale scale)
        : context_(g_main_context_new()), scale_(scale), n_(n),
          sources_(static_cast<Source **>(bench::fresh_memory(n * sizeof(Source *)))) {
        for (std::size_t i = 0; i < n; ++i) {
            GSource *source = g_source_new(&functions, sizeof(Source));
            g_source_set_callback(source, count, &fired_, nullptr);
            g_source_attach(source, context_);
            sources_[i] = reinterpret_cast<Source *>(source);
        }
        start_ = g_get_monotonic_time();
    }
    ~Glib() {
        for (std::size_t i = 0; i < n_; ++i) {
            g_source_destroy(&sources_[i]->base);
            g_source_unref(&sources_[i]->base);
        }
        g_main_context_unref(context_);
    }
    Glib(const Glib &) = delete;
    Glib &operator=(const Glib &) = delete;

    Time time(std::uint64_t tick) const {
        const auto after = scale_.ahead + scale_.tick * static_cast<std::int64_t>(tick);
        return start_ + std::chrono::ceil<std::chrono::microseconds>(after).count();
    }
    Time timeout(std::uint64_t tick) const { return time(tick); }
    std::uint64_t fired() const { return fired_; }

    void arm(std::uint32_t i, Time at) { g_source_set_ready_time(&sources_[i]->base, at); }
    void move(std::uint32_t i, Time at) { g_source_set_ready_time(&sources_[i]->base, at); }
    void postpone(std::uint32_t i, Time at) { g_source_set_ready_time(&sources_[i]->base, at); }
    void cancel(std::uint32_t i) { g_source_set_ready_time(&sources_[i]->base, -1); }
    void every(std::uint32_t i, std::uint32_t period) {
        sources_[i]->period = time(period) - start_;
        arm(i, time(period));
    }

    template <class Work> void inside(Work &&work) { work(); }
    void dispatch() { g_main_context_iteration(context_, FALSE); }
    void wait() { g_main_context_iteration(context_, TRUE); }

  private:
    static gboolean count(gpointer fired) {
        ++*static_cast<std::uint64_t *>(fired);
        return G_SOURCE_REMOVE;
    }

    static gboolean fire(GSource *source, GSourceFunc callback, gpointer data) {
        const gboolean one_shot = callback(data);
        const gint64 period = reinterpret_cast<Source *>(source)->period;
        if (period == 0)
            return one_shot;
        g_source_set_ready_time(source, g_source_get_ready_time(source) + period);
        return G_SOURCE_CONTINUE;
    }

    static inline GSourceFuncs functions{nullptr, nullptr, fire, nullptr, nullptr, nullptr};

    GMainContext *context_;
    bench::Scale scale_;
    std::size_t n_;
    Source **sources_;
    gint64 start_ = 0;
    std::uint64_t fired_ = 0;
};

const std::string version = std::to_string(glib_major_version) + "." + std::to_string(glib_minor_version) +
                            "." + std::to_string(glib_micro_version);
const bench::Module module{version.c_str(), "g_source_set_ready_time", false, bench::run<Glib>};

}  // namespace

const bench::Module *bench::tickwheel_bench_module() { return &module; }
