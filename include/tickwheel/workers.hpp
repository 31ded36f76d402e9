// tickwheel/workers.hpp - pools of threads that run callbacks. See tickwheel.hpp.
#include <tickwheel/cplusplus.hpp>
#if defined(TICKWHEEL_CPLUSPLUS_20) && !defined(TICKWHEEL_WORKERS_HPP)
#define TICKWHEEL_WORKERS_HPP

#include <chrono>
#include <cstdint>

#include <tickwheel/callback.hpp>
#include <tickwheel/runtime.hpp>
#include <tickwheel/timer.hpp>
#include <tickwheel/workers.h>

namespace tickwheel {

// The policy for a fire when the queue is full. See enum tw_when_full in workers.h.
enum class when_full { run_inline = TW_FULL_INLINE, reject = TW_FULL_REJECT, block = TW_FULL_BLOCK };

// The policy for the fires in the queue when the runtime is stopped. See enum tw_at_stop in workers.h.
enum class at_stop { drain = TW_STOP_DRAIN, discard = TW_STOP_DISCARD };

// The options without a comment are explained at struct tw_workers_options in workers.h.
struct workers_options {
    unsigned threads = 0;     // 0 stands for 4
    std::uint32_t queue = 0;  // 0 stands for 1024
    tickwheel::when_full when_full = tickwheel::when_full::run_inline;
    tickwheel::at_stop at_stop = tickwheel::at_stop::drain;
    const char *thread_name = nullptr;

    std::uint32_t capacity = 0;  // most timers at a time, all allocated now; 0: no limit
    bool concurrent = false;     // true: several fires of one timer may run at the same time
};

// A pool of workers on a runtime: threads that run callbacks. Timers, sleeping coroutines and
// pinned timers that are made on it run on these threads. Exceptions of callbacks go to the
// runtime's handler, possibly on several threads at a time.
//
// Destroy a pool before its runtime, after the sleepers and pinned timers made on it, and not in a
// callback. Its timers are cancelled, including fires that wait for a worker: call wait() first
// to have these run.
//
// The constructor throws std::system_error as tw_workers_new says.
template <class Clock> class basic_workers : public basic_timers<Clock, tw_work> {
  public:
    using node = tw_work;

    explicit basic_workers(basic_runtime<Clock> &rt, const workers_options &o = {})
        : basic_timers<Clock, tw_work>(rt.home_->on_exception) {
        tw_workers_options c = {};
        c.threads = o.threads;
        c.queue = o.queue;
        c.when_full = static_cast<tw_when_full>(o.when_full);
        c.at_stop = static_cast<tw_at_stop>(o.at_stop);
        c.thread_name = o.thread_name;
        this->home_->rt = rt.native();
        detail::check(tw_workers_new(&this->home_->pool, rt.native(), &c));
        try {
            this->make_timers(o.capacity, o.concurrent);
        } catch (...) {
            end();
            throw;
        }
    }
    ~basic_workers() { end(); }

    // The pool as the C interface knows it.
    [[nodiscard]] tw_workers *native() const noexcept { return this->home_->pool; }

    // Returns when the queue is empty and no callback runs. Throws std::system_error as
    // tw_workers_wait says.
    void wait() { detail::check(tw_workers_wait(native())); }

    // See tw_workers_stats.
    [[nodiscard]] tw_worker_stats stats() const {
        tw_worker_stats seen;
        detail::check(tw_workers_stats(native(), &seen));
        return seen;
    }

  private:
    void end() noexcept {
        tw_timers_free(this->home_->timers);
        tw_workers_free(this->home_->pool);
        this->home_->rt = nullptr;
        this->home_->timers = nullptr;
        this->home_->pool = nullptr;
    }
};

using workers =
    basic_workers<std::chrono::steady_clock>;  // on a runtime; on other kinds: basic_workers pool(rt)

}  // namespace tickwheel

#endif
