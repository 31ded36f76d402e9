// The waiting fires of one pool. The caller holds the pool mutex. Only `make` allocates.
//
//   - A runnable has a ring of its waiting fires, oldest first; `last` is the youngest.
//   - A heap holds the ready runnables (those that a worker may take), ordered by the number of
//     their oldest fire. So workers take fires in the order of arrival, even if a fire had to
//     wait for an earlier run of its runnable.
#pragma once

#include <cassert>
#include <cstdint>
#include <cstdlib>

#include <tickwheel/workers.h>

struct tw_waiting_fire {
    tw_waiting_fire *next;  // in the ring, or in the list of free cells
    std::uint64_t number;
    std::int64_t due;
    std::uint64_t overruns;
};

namespace tickwheel::workers {

inline bool is_concurrent(const tw_runnable &runnable) { return (runnable.flags & TW_CONCURRENT) != 0; }

class fire_queue {
  public:
    // Allocates cells for `room` fires. Returns false if memory runs out; then the caller still calls
    // `unmake`.
    bool make(std::size_t room) {
        cells_ = static_cast<tw_waiting_fire *>(std::calloc(room, sizeof *cells_));
        heap_ = static_cast<ranked *>(std::calloc(room + 1, sizeof *heap_));
        return cells_ != nullptr && heap_ != nullptr;
    }
    void unmake() {
        std::free(cells_);
        std::free(heap_);
    }

    std::uint32_t waiting() const { return waiting_; }
    std::uint64_t next_number() const { return next_number_; }

    // The number of fires that workers could take now, one each.
    std::uint32_t takable() const { return takable_; }

    // The ready runnable with the oldest fire; null if none is ready.
    tw_runnable *first() const { return ready_ != 0 ? heap_[1].runnable : nullptr; }

    // Searches the places of the heap from `at`, or from the last one, down to 1 for a wanted runnable, and
    // stores its place in `at`. If there is none, returns null and sets `at` to 0.
    template <class Wanted> tw_runnable *find(std::uint32_t &at, Wanted is_wanted) const {
        for (at = at < ready_ ? at : ready_; at != 0; --at)
            if (is_wanted(*heap_[at].runnable))
                return heap_[at].runnable;
        return nullptr;
    }

    static bool is_ready(const tw_runnable &runnable) { return runnable.place != 0; }

    // Adds a runnable with a waiting fire to the heap, or removes it.
    void make_ready(tw_runnable &runnable) {
        assert(!is_ready(runnable) && runnable.last != nullptr && runnable.waiting > 0);
        takable_ += share(runnable);
        rise(++ready_, {runnable.last->next->number, &runnable});
    }
    void make_unready(tw_runnable &runnable) {
        takable_ -= share(runnable);
        const std::uint32_t hole = runnable.place;
        const ranked last = heap_[ready_--];
        runnable.place = 0;
        if (last.runnable == &runnable)
            return;
        rise(hole, last);
        sink(last.runnable->place, last);
    }

    // Counts a fire as an overrun of the youngest waiting fire. Returns false if no fire waits, or if the
    // youngest has a number below from_number.
    static bool join(tw_runnable &runnable, std::uint64_t from_number, std::uint64_t overruns) {
        if (runnable.last == nullptr || runnable.last->number < from_number)
            return false;
        runnable.last->overruns += overruns + 1;
        return true;
    }

    // REQUIRES: a free cell. The pool has cells for its bound, for one fire per idle worker, and for the
    // one fire over the bound.
    void push(tw_runnable &runnable, std::int64_t due, std::uint64_t overruns) {
        tw_waiting_fire &fire = take_cell();
        fire = {&fire, next_number_++, due, overruns};
        if (runnable.last != nullptr) {
            fire.next = runnable.last->next;
            runnable.last->next = &fire;
        }
        runnable.last = &fire;
        ++runnable.waiting;
        ++waiting_;
        if (is_ready(runnable) && is_concurrent(runnable))
            ++takable_;
    }

    // Removes the oldest fire of a runnable that is not ready.
    tw_waiting_fire pop(tw_runnable &runnable) {
        assert(!is_ready(runnable) && runnable.last != nullptr);
        tw_waiting_fire &oldest = *runnable.last->next;
        const tw_waiting_fire fire = oldest;
        if (runnable.last == &oldest)
            runnable.last = nullptr;
        else
            runnable.last->next = oldest.next;
        --runnable.waiting;
        --waiting_;
        oldest.next = free_;
        free_ = &oldest;
        return fire;
    }

    // Drops all fires of a runnable at once; returns how many.
    std::uint32_t drop_all(tw_runnable &runnable) {
        tw_waiting_fire *const youngest = runnable.last;
        if (youngest == nullptr)
            return 0;
        if (is_ready(runnable))
            make_unready(runnable);
        tw_waiting_fire *const oldest = youngest->next;
        youngest->next = free_;
        free_ = oldest;
        const std::uint32_t dropped = runnable.waiting;
        runnable.last = nullptr;
        runnable.waiting = 0;
        waiting_ -= dropped;
        return dropped;
    }

  private:
    struct ranked {
        std::uint64_t number;
        tw_runnable *runnable;
    };

    // The number of workers that could take a fire of this ready runnable now: its share of `takable_`.
    static std::uint32_t share(const tw_runnable &runnable) {
        return is_concurrent(runnable) ? runnable.waiting : 1;
    }

    tw_waiting_fire &take_cell() {
        if (free_ == nullptr)
            return cells_[untouched_++];
        tw_waiting_fire &cell = *free_;
        free_ = cell.next;
        return cell;
    }

    void put(std::uint32_t at, const ranked &e) {
        heap_[at] = e;
        e.runnable->place = at;
    }
    // Move an element from a hole at `at` to its position in the heap, towards the root or away from it. The
    // oldest fire is at the root. Each runnable stores its place, so cancelling one needs no search.
    void rise(std::uint32_t at, const ranked &e) {
        for (; at > 1 && e.number < heap_[at / 2].number; at /= 2)
            put(at, heap_[at / 2]);
        put(at, e);
    }
    void sink(std::uint32_t at, const ranked &e) {
        for (std::uint32_t below; (below = at * 2) <= ready_; at = below) {
            if (below < ready_ && heap_[below + 1].number < heap_[below].number)
                ++below;
            if (e.number <= heap_[below].number)
                break;
            put(at, heap_[below]);
        }
        put(at, e);
    }

    tw_waiting_fire *cells_ = nullptr;
    tw_waiting_fire *free_ = nullptr;  // released cells; cells from `untouched_` on were never used
    ranked *heap_ = nullptr;           // elements 1 to ready_
    std::uint32_t untouched_ = 0, ready_ = 0, waiting_ = 0, takable_ = 0;
    std::uint64_t next_number_ = 0;
};

}  // namespace tickwheel::workers
