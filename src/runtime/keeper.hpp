// A keeper: what places and fires timers on the timelines of a runtime besides the wheels of nodes. There is
// one at most, that of records (src/timers), which the runtime knows by its hooks alone.
//
// Order (P3): on each timeline all that is due at a tick fires before anything of a later tick, nodes first.
#pragma once

#include "runtime.hpp"

namespace tickwheel::runtime {

struct keeper;

struct keeper_hooks {
    // Take and release its lock, which comes before the locks of components. In the child of a fork,
    // begin_in_child is called instead of unlock: only the forking thread is there.
    void (*lock)(keeper &);
    void (*unlock)(keeper &);
    void (*begin_in_child)(keeper &);

    // The earliest tick of a timeline at which it needs attention, as tw_next says it; and the present that
    // it was told last. REQUIRES: keeper lock held
    tick (*next)(keeper &, timeline &);
    tick (*now)(keeper &, timeline &);

    // Tells it of the present, and fires what is due before tick `limit`. Then finds the first tick up to the
    // present at which more is due, and stores that, or `never`, in *next. Returns false if the firing thread
    // has to stop before that: it has to leave, a component has to be settled, or *budget is used up. By the
    // firing thread, outside of callbacks.
    bool (*advance)(keeper &, timeline &, tick present, tick limit, tick *next, std::uint32_t *budget);

    // An exception has left the callback that runs.
    void (*abandon)(keeper &);

    // REQUIRES: keeper lock held
    std::size_t (*count)(keeper &);
    int (*check)(keeper &, tw_report *report, void *arg);
    std::uint64_t (*cancelled)(keeper &, unsigned label);  // fires that calls have prevented

    // The runtime is being freed, and nothing can call the keeper any more.
    void (*destroy)(keeper &);
};

struct keeper {
    const keeper_hooks *hooks;
};

// Null until the first set of timers is made.
inline keeper *keeper_of(const tw_runtime &rt) { return rt.keeper.load(std::memory_order_acquire); }

// Holds the lock of a runtime's keeper, if there is one. To be taken before wall_hold.
class keeper_hold {
  public:
    explicit keeper_hold(const tw_runtime &rt) : keeper_(keeper_of(rt)) {
        if (keeper_ != nullptr)
            keeper_->hooks->lock(*keeper_);
    }
    ~keeper_hold() {
        if (keeper_ != nullptr)
            keeper_->hooks->unlock(*keeper_);
    }
    keeper_hold(const keeper_hold &) = delete;
    keeper_hold &operator=(const keeper_hold &) = delete;

    keeper *held() const { return keeper_; }

  private:
    keeper *keeper_;
};

}  // namespace tickwheel::runtime
