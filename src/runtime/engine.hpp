// An engine: what places and fires timers on the timelines of a runtime besides the wheels of nodes. There is
// one at most, that of records (src/timers), which the runtime knows by its hooks alone.
//
// Order (P3): on each timeline all that is due at a tick fires before anything of a later tick, nodes first.
#pragma once

#include "runtime.hpp"

namespace tickwheel::runtime {

struct engine;

struct engine_hooks {
    // Take and release its lock, which comes before the locks of components. In the child of a fork,
    // begin_in_child is called instead of unlock: only the forking thread is there.
    void (*lock)(engine &);
    void (*unlock)(engine &);
    void (*begin_in_child)(engine &);

    // The earliest tick of a timeline at which it needs attention, as tw_next says it; and the present that
    // it was told last. REQUIRES: engine lock held
    tick (*next)(engine &, timeline &);
    tick (*now)(engine &, timeline &);

    // Tells it of the present, and fires what is due before tick `limit`. Then finds the first tick up to the
    // present at which more is due, and stores that, or `never`, in *next. Returns false if the firing thread
    // has to stop before that: it has to leave, a component has to be settled, or *budget is used up. By the
    // firing thread, outside of callbacks.
    bool (*advance)(engine &, timeline &, tick present, tick limit, tick *next, std::uint32_t *budget);

    // An exception has left the callback that runs.
    void (*abandon)(engine &);

    // REQUIRES: engine lock held
    std::size_t (*count)(engine &);
    int (*check)(engine &, tw_report *report, void *arg);
    std::uint64_t (*cancelled)(engine &, unsigned label);  // fires that calls have prevented

    // The runtime is being freed, and nothing can call the engine any more.
    void (*destroy)(engine &);
};

struct engine {
    const engine_hooks *hooks;
};

// Null until the first set of timers is made.
inline engine *engine_of(const tw_runtime &rt) { return rt.second_engine.load(std::memory_order_acquire); }

// Holds the lock of a runtime's engine, if there is one. To be taken before wall_hold.
class engine_hold {
  public:
    explicit engine_hold(const tw_runtime &rt) : engine_(engine_of(rt)) {
        if (engine_ != nullptr)
            engine_->hooks->lock(*engine_);
    }
    ~engine_hold() {
        if (engine_ != nullptr)
            engine_->hooks->unlock(*engine_);
    }
    engine_hold(const engine_hold &) = delete;
    engine_hold &operator=(const engine_hold &) = delete;

    engine *held() const { return engine_; }

  private:
    engine *engine_;
};

}  // namespace tickwheel::runtime
