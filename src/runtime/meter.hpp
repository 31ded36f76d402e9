// The runtime measures each fire: how long its callback ran, how late it began and why. It also keeps totals
// for each label. The thread that runs the callback writes the counters; any thread may read them.
//
// Cost. The firing thread reads the clock once per turn, and a stopwatch at the start and end of each group
// of fires. Together they give the time at which a callback began. On virtual time there is nothing to time,
// so the counts are the same in every run.
//
// A group is one fire, unless callbacks are short. Reading the stopwatch costs as much as a short callback.
// So the meter times consecutive callbacks with the same label and the same deadline in larger groups, as
// long as a whole group takes at most about two microseconds, and counts them as equally long. If a group
// takes longer than its callbacks usually take by at least the width of bucket 0, one of them was slow. The
// meter counts that one as slow, and the others as usual but late because of it, and times the next callbacks
// one by one again.
#pragma once

#include <cstdint>

#include <tickwheel/task.h>

#include "histogram.hpp"
#include "recorder.hpp"
#include "stopwatch.hpp"
#include "timeline.hpp"

namespace tickwheel::runtime {

// The callback that a thread is in. Workers always fill this in, the firing thread only if there is an
// onlooker: the lookout for slow callbacks, or a trace. If `begun` changes while another thread reads the
// fields, they may mix two callbacks.
struct running_callback {
    std::atomic<stopwatch::reading> begun{0};    // 0: none
    std::atomic<const tw_node *> node{nullptr};  // or null
    std::atomic<tw_handle> handle{0};            // or 0
    std::atomic<const void *> function{nullptr};
    std::atomic<unsigned> label{0};
    std::atomic<bool> is_passed_on{false};        // to a worker, which runs it
    std::atomic<stopwatch::reading> reported{0};  // `begun` of the last callback reported as slow

    void describe(unsigned of_label, const tw_node *a_node, tw_handle a_handle, const void *fn) {
        label.store(of_label, std::memory_order_relaxed);
        node.store(a_node, std::memory_order_relaxed);
        handle.store(a_handle, std::memory_order_relaxed);
        function.store(fn, std::memory_order_relaxed);
    }
    void begin(stopwatch::reading now) { begun.store(now, std::memory_order_release); }

    // Returns when the callback began; 0 if the thread had not filled this in.
    stopwatch::reading end() {
        const stopwatch::reading was = begun.load(std::memory_order_relaxed);
        if (was != 0)
            begun.store(0, std::memory_order_release);
        return was;
    }
};

// The callbacks that one or several threads have run.
template <class Writing> struct callback_counts {
    struct by_label {
        std::atomic<std::uint64_t> fires, overruns;
        std::atomic<std::int64_t> sum, max;
    };

    buckets<Writing> durations;  // their sum and maximum follow from those of the labels
    by_label labels[TW_LABELS];

    // Adds `runs` callbacks that took `ns` each.
    void add_runs(unsigned label, std::int64_t ns, unsigned runs) {
        durations.add(ns, runs);
        Writing::add(labels[label].sum, ns * runs);
        Writing::raise(labels[label].max, ns);
    }
};

// The readings of the clocks when the firing thread last went to sleep, and how late it was when it ran
// again.
struct last_sleep {
    tw_deadlines from;
    std::int64_t late;
};

// no_sleep: the thread has not slept since its last turn. absence: no thread was firing.
inline constexpr last_sleep no_sleep = {{TW_NO_DEADLINE, TW_NO_DEADLINE}, 0};
inline constexpr last_sleep absence = {{0, 0}, INT64_MAX / 2};

// The bench compares the library with a build that does not measure.
#ifdef TW_UNMEASURED
inline constexpr bool measures = false;
#else
inline constexpr bool measures = true;
#endif

// The firing thread's meter. Only that thread writes, and calls the members that change something.
class fire_meter {
    using counts_by_label = callback_counts<by_one_thread>::by_label;

  public:
    // Call this when the thread runs again after a sleep, or after an absence.
    void note_sleep(const last_sleep &sleep) { sleep_ = sleep; }

    // The thread starts to fire a timeline's due timers. `reading` is the current reading of the timeline's
    // clock.
    void begin(const timeline &line, std::int64_t reading);

    // The thread has fired all timers due then; or not all (has_more), because the budget was used up.
    void end(const timeline &line, bool has_more);

    // The timeline that is being fired.
    const timeline &line() const { return *line_; }

    // The following fires belong to the next turn. No sleep comes before it unless note_sleep says so.
    void end_turn() { sleep_ = no_sleep; }

    // A callback begins. `elsewhere`: it only passes the fire on to a worker, which measures the run. Returns
    // true if there is an onlooker; then the caller must call show_callback.
    bool begin_callback(std::int64_t due, unsigned label, bool elsewhere) {
        if (!measures)
            return false;
        const unsigned kind = group::kind_of(label, elsewhere);
        const unsigned seen_by = onlookers.load(std::memory_order_relaxed);
        if ((group_.kind == kind) & (group_.due == due) & (seen_by == 0)) [[likely]] {  // one branch for all
            by_one_thread::add(group_.counts->fires, std::uint64_t{1});
            return false;
        }
        begin_group(due, kind);
        by_one_thread::add(group_.counts->fires, std::uint64_t{1});
        return seen_by != 0;
    }

    void show_callback(unsigned label, const tw_node *node, tw_handle handle, const void *fn);

    // The callback has returned.
    void end_callback(std::uint64_t overruns) {
        if (!measures)
            return;
        counts_by_label &of = *group_.counts;
        if (overruns != 0) [[unlikely]]
            by_one_thread::add(of.overruns, overruns);
        if (of.fires.load(std::memory_order_relaxed) == group_.last) [[unlikely]]
            end_group(overruns);
    }

    // The thread does something else before it calls the next callback.
    void pause() {
        if (group_.is_open())
            end_group(0);
        follows_ = false;
    }

    // Passes a finished fire to the recorder, if there is one. Any thread.
    [[gnu::cold, gnu::noinline]] void record(const recorded_fire &fire) const {
        if (fire_recorder *const to = recorder.load(std::memory_order_acquire); to != nullptr)
            to->record(*to, fire);
    }

    // An exception has left the callback, or this is the child of a fork, where the callback does not
    // continue.
    void abandon_callback() {
        pause();
        running.end();
    }

    std::atomic<unsigned> onlookers{0};  // who watches `running`: a set of these bits
    static constexpr unsigned lookout_for_slow = 1, trace_of_fires = 2;
    running_callback running;
    callback_counts<by_one_thread> counts;
    histogram<by_one_thread> late[TW_LATE_CAUSES];
    std::atomic<fire_recorder *> recorder{nullptr};  // usually none

  private:
    static constexpr std::int64_t longest_group = 2048;  // in ns
    static constexpr unsigned largest_group = 32;

    // Fires that are timed together.
    struct group {
        static constexpr unsigned none = ~0u, passed_on = 1u << 31;

        unsigned kind = none;  // the label, and whether workers run the callbacks
        std::int64_t due = 0;
        std::uint64_t first = 0, last = 0;  // the label's fires before the group, and at its end

        counts_by_label *counts = nullptr;

        static unsigned kind_of(unsigned label, bool elsewhere) {
            return label | (elsewhere ? passed_on : 0);
        }
        bool is_open() const { return kind != none; }
        unsigned label() const { return kind & ~passed_on; }
        bool elsewhere() const { return (kind & passed_on) != 0; }
    };

    void begin_group(std::int64_t due, unsigned kind);
    void end_group(std::uint64_t overruns);
    void add_late(const fire_lateness &by, unsigned fires);
    bool time_group(const group &ended, unsigned fires);
    void add_runs(const group &of, std::int64_t ns, unsigned runs);
    fire_lateness lateness(std::int64_t due) const;
    bool is_in_time(std::int64_t due) const;

    // The timeline that is being fired, and the readings of its clock and of the stopwatch at `begin`.
    const timeline *line_;
    std::int64_t reading_;
    stopwatch::reading read_at_;
    bool is_timed_;
    last_sleep sleep_ = absence;
    tw_deadlines left_until_ = {-1, -1};  // timers due up to this reading may be left; -1: none

    group group_;
    unsigned room_ = 1;       // size of the next group
    std::int64_t usual_ = 0;  // how long each callback of the last group took

    // When the group began, by the stopwatch, and how long after the clock's reading. With no open group:
    // when the next one begins, if it follows at once.
    stopwatch::reading begun_;
    std::int64_t since_;
    std::int64_t until_first_;  // how long after the reading the first group began; -1: none has
    bool follows_;
};

}  // namespace tickwheel::runtime
