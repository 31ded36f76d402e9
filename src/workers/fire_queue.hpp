// The fires of one pool that wait for a worker. One thread at a time, the one that holds the pool mutex.
// Only `make` allocates.
//
//   - A runnable has a ring of its fires, oldest first; `last` is the youngest.
//   - A heap holds the runnables that a worker may take, by the number of their oldest
//     fire, so that fires are taken in the order they came in, also those that had to wait
//     for an earlier run of their runnable.
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

inline bool is_concurrent(const tw_runnable &it) { return (it.flags & TW_CONCURRENT) != 0; }

class fire_queue {
  public:
    // Makes room for so many fires. Returns false without memory; unmake is called all the same.
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

    // How many fires could be taken at this moment, by as many workers.
    std::uint32_t takable() const { return takable_; }

    // The runnable that may be taken and has waited longest; null if there is none.
    tw_runnable *first() const { return ready_ != 0 ? heap_[1].it : nullptr; }

    // Searches the heap from place `at` towards its root for a runnable that is_wanted, and leaves its
    // place in `at`. Null if there is none; then `at` is 0.
    template <class Wanted> tw_runnable *find(std::uint32_t &at, Wanted is_wanted) const {
        for (at = at < ready_ ? at : ready_; at != 0; --at)
            if (is_wanted(*heap_[at].it))
                return heap_[at].it;
        return nullptr;
    }

    static bool is_ready(const tw_runnable &it) { return it.place != 0; }

    // A runnable with a fire may be taken from now on; or not any more.
    void make_ready(tw_runnable &it) {
        assert(!is_ready(it) && it.last != nullptr && it.waiting > 0);
        takable_ += share(it);
        rise(++ready_, {it.last->next->number, &it});
    }
    void make_unready(tw_runnable &it) {
        takable_ -= share(it);
        const std::uint32_t hole = it.place;
        const ranked last = heap_[ready_--];
        it.place = 0;
        if (last.it == &it)
            return;
        rise(hole, last);
        sink(last.it->place, last);
    }

    // Counts a fire as an overrun of the youngest that waits, if that has this number or a later one.
    static bool join(tw_runnable &it, std::uint64_t from_number, std::uint64_t overruns) {
        if (it.last == nullptr || it.last->number < from_number)
            return false;
        it.last->overruns += overruns + 1;
        return true;
    }

    // There must be room: the pool has cells for its bound, for what idle workers are about to take, and
    // for the one fire too many.
    void push(tw_runnable &it, std::int64_t due, std::uint64_t overruns) {
        tw_waiting_fire &fire = take_cell();
        fire = {&fire, next_number_++, due, overruns};
        if (it.last != nullptr) {
            fire.next = it.last->next;
            it.last->next = &fire;
        }
        it.last = &fire;
        ++it.waiting;
        ++waiting_;
        if (is_ready(it) && is_concurrent(it))
            ++takable_;
    }

    // Takes the oldest fire of a runnable that is not ready.
    tw_waiting_fire pop(tw_runnable &it) {
        assert(!is_ready(it) && it.last != nullptr);
        tw_waiting_fire &oldest = *it.last->next;
        const tw_waiting_fire fire = oldest;
        if (it.last == &oldest)
            it.last = nullptr;
        else
            it.last->next = oldest.next;
        --it.waiting;
        --waiting_;
        oldest.next = free_;
        free_ = &oldest;
        return fire;
    }

    // Drops all fires of a runnable in one move; returns how many.
    std::uint32_t drop_all(tw_runnable &it) {
        tw_waiting_fire *const youngest = it.last;
        if (youngest == nullptr)
            return 0;
        if (is_ready(it))
            make_unready(it);
        tw_waiting_fire *const oldest = youngest->next;
        youngest->next = free_;
        free_ = oldest;
        const std::uint32_t dropped = it.waiting;
        it.last = nullptr;
        it.waiting = 0;
        waiting_ -= dropped;
        return dropped;
    }

  private:
    struct ranked {
        std::uint64_t number;
        tw_runnable *it;
    };

    // How many workers can be busy with this runnable at once: what it adds to `takable_`.
    static std::uint32_t share(const tw_runnable &it) { return is_concurrent(it) ? it.waiting : 1; }

    tw_waiting_fire &take_cell() {
        if (free_ == nullptr)
            return cells_[untouched_++];
        tw_waiting_fire &cell = *free_;
        free_ = cell.next;
        return cell;
    }

    void put(std::uint32_t at, const ranked &e) {
        heap_[at] = e;
        e.it->place = at;
    }
    // Put an element where it belongs in the heap, from a hole at `at` towards the root, or away from it. The
    // oldest fire is at the root. A runnable knows its place, so that one that is cancelled is found at once.
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
    tw_waiting_fire *free_ = nullptr;  // cells that were used before; those from `untouched_` on never were
    ranked *heap_ = nullptr;           // from 1 to ready_
    std::uint32_t untouched_ = 0, ready_ = 0, waiting_ = 0, takable_ = 0;
    std::uint64_t next_number_ = 0;
};

}  // namespace tickwheel::workers
