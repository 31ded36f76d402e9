// The wheel of records: when they are due, as entries in logs that come down as time advances.
//
// A record is known by its number. What the wheel needs of it (`timing`) is in memory of the owner's,
// found by the class Records that the wheel is made with:
//
//     timing &timing_of(std::uint32_t cell)
//     void prefetch(std::uint32_t cell)    will be asked for soon
//     tick offset()                        what is added to timing::due to get a tick of the wheel
//
// The offset may grow at any time, which makes every record due later. That is how a clock is followed
// that was set back: nothing moves.
//
// No lock, no clock, no callback. Every member does a bounded number of steps (P8).
#pragma once

#include <cstddef>
#include <cstdint>

#include "bounds.hpp"
#include "inlining.hpp"
#include "log_levels.hpp"
#include "order_queue.hpp"

namespace tickwheel::core {

// The wheel's part of a record, zero at first. Written by the wheel alone.
struct timing {
    tick due;             // less the offset
    std::uint64_t order;  // the record's place in the order of arming
    std::uint32_t stamp;  // of its entry; see record_wheel::stamp_armed
    std::uint32_t lag;    // by how many ticks its entry stands before `due`
};

// Invariants
//   R1  origin <= cursor <= now
//   R2  An entry stands in the slot of the highest digit in which its tick differs from the origin. It may
//       stand in that of a lower digit, if look-ahead or the opening of its slot moved it down. So no slot
//       opens after the tick of an entry in it.
//   R3  Of each record that is armed there is one entry that is not stale, at `lag` ticks before `due` or
//       earlier, or at the cursor if that is overdue. So none is lost (P4): when that entry's slot opens, the
//       record is due, or the entry moves on to where it is. A record that is not armed has none: its stamp
//       says so, and that of every entry says that it is armed, on this wheel. (An entry that stays stale
//       for 2^29 armings of its record counts again. It may take the record's place among those of its tick,
//       and fires nothing that is not due.)
//   R4  Entries of one tick go through the same slots, and only ever join a log at its end; those that come
//       down join it before any are placed in it. So those whose records stay where they were armed are in
//       the order of arming (P3). Those that had to move on are marked as late; on level 0 they have logs of
//       their own, and a queue puts them in order when the slot opens. Entries in the queue belong to the
//       slot at the cursor.
//   R5  open_level == 0: origin == cursor, and of all slots that have opened only the cursor's on level 0
//       may hold entries. open_level > 0: the cursor's slots are being emptied into the level below, from
//       level open_level down. Entries placed meanwhile join the first of them.
//   R6  `entries` is the number of entries, `armed` that of records with one that is not stale. At most
//       armed + spare of them are stale.
//   R7  No slot opens, and no look-ahead is due, before the tick `quiet_until` if that is in the future.
//   R8  A sweep stands before the chunk sweep_at of the log `swept`; sweep_before is the chunk before that,
//       null if there is none. Both are null between two logs. No chunks but these, the first and the last of
//       a log have room. While a sweep is under way, an entry that it has yet to look at goes to a log that
//       it has done with only if its record was looked at meanwhile.
template <class Shape, class Records> class record_wheel {
    static_assert(!wraps);

  public:
    enum class step_result { moved, due, done };

    // Entries beyond two for each armed record.
    static constexpr std::size_t spare = 32;

    // How many chunks are enough for so many records, on one wheel or spread over several, come what may
    // (P10). By R6 they have no more than `entries` entries. Each chunk has one or more; and all are full
    // except the first and the last of a log, and the one where a sweep is.
    static constexpr std::size_t chunks_for(std::size_t records, unsigned wheels = 1) {
        const std::size_t entries = 2 * records + wheels * spare;
        return smaller(entries, entries / log_chunk::size + wheels * (std::size_t{2} * all_logs + 1));
    }

    // To be called on memory that is all zero. Most of it is left alone: nothing touches the levels that no
    // entry stands on.
    // One of two wheels that share records is the second one.
    void init(const Records &records, chunk_pool &pool, tick start, bool is_second = false) {
        records_ = records;
        which_ = is_second ? stamp_wheel : 0;
        pool_ = &pool;
        late_.init(pool);
        cursor_ = origin_ = now_ = quiet_until_ = fetched_ = start;
    }

    tick now() const { return now_; }
    std::size_t armed() const { return armed_; }
    std::size_t entries() const { return entries_; }

    // --- arming --------------------------------------------------------------------------

    // Arms a record that is not armed. It becomes the last in the order of arming, which `order` says.
    TW_INLINED void arm(std::uint32_t cell, timing &it, tick due, std::uint64_t order) {
        ++armed_;
        place_anew(cell, it, due, order);
    }

    // Takes an armed record to another tick. To a later one than its entry's, but no more than 32 bits of
    // ticks later, only the record is touched. Not if the entry is at the cursor, as it may be in the queue
    // already, in the former order of its record.
    TW_INLINED void move(std::uint32_t cell, timing &it, tick due, std::uint64_t order) {
        const tick of_entry = it.due - it.lag;
        if (due > of_entry && due - of_entry <= UINT32_MAX && of_entry + records_.offset() > cursor_) {
            it.lag = static_cast<std::uint32_t>(due - of_entry);
            it.due = due;
            it.order = order;
            return;
        }
        drop_entry(cell, it);
        place_anew(cell, it, due, order);
        sweep_if_crowded();
    }

    TW_INLINED void disarm(std::uint32_t cell, timing &it) {
        --armed_;
        drop_entry(cell, it);
        sweep_if_crowded();
    }

    // A tick in [first, last] that costs little: one at which level 0 is busy anyway, else the one that
    // comes down through the fewest levels. Ticks of the wheel.
    tick choose(tick first, tick last) const {
        if (last <= now_ || first == last)
            return last;
        first = larger(first, now_ + 1);
        if (open_level_ == 0) {
            const unsigned shared = next_in_block<Shape>(levels_, cursor_, first - cursor_, last - cursor_);
            if (shared != 0)
                return cursor_ + shared;
        }
        return roundest(first, last);
    }

    // --- advancing -----------------------------------------------------------------------

    // The common case, a tick with nothing to do (R7): lets the time pass and returns true.
    bool pass_quietly(tick t) {
        if (t >= quiet_until_ || t < now_)
            return false;
        cursor_ = origin_ = now_ = t;
        return true;
    }

    // Takes the present to t, unless that is earlier.
    void begin_advance(tick t) {
        if (t < now_)
            t = now_;
        elapsed_ += t - now_;
        now_ = quiet_until_ = t;
    }
    // The ticks that have passed since this was asked last, without those that passed quietly.
    tick take_elapsed() {
        const tick elapsed = elapsed_;
        elapsed_ = 0;
        return elapsed;
    }

    // Goes on towards `now` by a few moves or one slot; or says that a record is due, at due_tick(); or that
    // all is done.
    step_result step() {
        if (open_level_ != 0) {
            if (lower_some(0) == 0) {
                origin_ = cursor_;
                open_level_ = 0;
            }
            return step_result::moved;
        }
        if (is_slot_busy()) {
            const step_result result = look_at_first();
            if (result == step_result::moved)
                pay_for_moves(order_queue::batch);
            return result;
        }
        if (cursor_ == now_)
            return step_result::done;
        open_next();
        return step_result::moved;
    }

    tick due_tick() const { return cursor_; }

    // Late entries stand at this tick, though none of their records may be due.
    bool has_late_entries_here() const {
        return open_level_ == 0 && (!late_.is_empty() || !levels_.late[cursor_slot()].is_empty());
    }

    // Takes the record that is due off the wheel, and returns its number.
    // REQUIRES: step() has just said `due`
    std::uint32_t take_due() {
        TW_ASSERT(first_ != nullptr && armed_ != 0);
        const std::uint32_t cell = first_->front().cell;
        make_stale(records_.timing_of(cell));
        --armed_;
        drop_front(*first_);
        if (first_->is_empty())
            end_log(*first_);
        sweep_if_crowded();
        return cell;
    }

    // An empty wheel has nothing to do on its way to `now`, and skips all slots.
    void skip_if_empty() {
        if (entries_ != 0)
            return;
        if (is_slot_busy())
            levels_.busy.clear(cursor_slot());
        cursor_ = origin_ = now_;
        open_level_ = 0;
    }

    // True if nothing but look-ahead is left to do up to `now`.
    bool has_caught_up() const { return open_level_ == 0 && cursor_ == now_ && !is_slot_busy(); }

    // How many ticks before a block opens look-ahead begins: so early that all entries there are can come
    // down at a quarter of each tick's share.
    tick near_lead() const { return entries_ / (ahead_per_tick / 4) + 1; }

    // Lowers some entries by a level: out of the slots that have opened, or, when these are empty, out of
    // those that open within `lead` ticks. Returns how many; 0 if there was none to lower.
    //
    // The levels are taken from the top down, so that an entry from a high level goes through the slots below
    // ahead of those placed later (R4).
    [[gnu::noinline]] unsigned lower_some(tick lead) {
        unsigned level = open_level_;
        if (level == 0)
            while (level < Shape::top && Shape::until_next(level + 1, cursor_) <= lead)
                ++level;
        for (; level != 0; --level) {
            const tick until = open_level_ != 0 ? 0 : Shape::until_next(level, cursor_);
            const unsigned slot = Shape::slot(level, cursor_ + until);
            if (levels_.busy.test(slot))
                return lower_from(slot, level - 1);
        }
        return 0;
    }

    // When all is done, look-ahead with this lead included: finds how long the wheel is quiet (R7).
    void set_quiet(tick lead) {
        if (!has_caught_up())
            return;
        tick quiet = Shape::until_next(1, cursor_);
        if (const unsigned busy = levels_.next_busy(0, cursor_, 0, static_cast<unsigned>(quiet - 1));
            busy != 0)
            quiet = busy;
        for (unsigned level = 1; level <= Shape::top; ++level) {
            const tick until = Shape::until_next(level, cursor_);
            const tick begin = until - smaller(lead, until);
            if (begin >= quiet)
                break;  // slots of higher levels open at the same tick or later
            if (levels_.busy.test(Shape::slot(level, cursor_ + until)))
                quiet = begin;
        }
        quiet_until_ = quiet > never - cursor_ ? never : cursor_ + quiet;
    }

    // --- what is next --------------------------------------------------------------------

    // The earliest tick that needs attention, never if nothing is armed; `now` if there is something to do at
    // once. It is exact if few entries have to be looked at, and else the tick at which their slot opens, or
    // a little earlier so that look-ahead can empty it. Not while the wheel is quiet: an advance would do
    // nothing.
    tick next(tick lead) {
        skip_if_empty();
        return asked_for_ = armed_ == 0 ? never : has_caught_up() ? larger(search(lead), quiet_until_) : now_;
    }

    // How far the present is past the tick that next() asked the caller to come at; negative answers wrap to
    // large ones, as the caller is early then.
    tick ticks_after_asked() const { return now_ - asked_for_; }

  private:
    template <class> friend class record_checker;
    template <class> friend struct record_test_access;

    static constexpr unsigned width_0 = Shape::width(0);
    static constexpr unsigned all_logs = Shape::slots + width_0 + order_queue::logs;
    static constexpr unsigned lowered_at_once = 16;
    static constexpr unsigned entries_worth_a_look = 32;
    static constexpr unsigned slots_fetched_ahead = 4;
    static constexpr unsigned entries_swept = 14;  // with each entry that becomes stale; see sweep_if_crowded

    bool is_current(const entry &e) { return e.has_stamp(records_.timing_of(e.cell).stamp); }
    tick due_of(const timing &it) { return it.due + records_.offset(); }

    // --- placing ---

    TW_INLINED void place_anew(std::uint32_t cell, timing &it, tick due, std::uint64_t order) {
        it.due = due;
        it.order = order;
        it.lag = 0;
        make_anew(it);
        ++entries_;
        place({larger(due_of(it), cursor_), cell, it.stamp});
    }

    // A stamp: whether the entry is late (a bit of its mark alone), whether the record is armed, on which
    // wheel it was armed last, and how often it was.
    static constexpr std::uint32_t stamp_armed = 2, stamp_wheel = 4, stamp_count = 8;

    static void make_stale(timing &it) { it.stamp &= ~stamp_armed; }
    void make_anew(timing &it) const {
        it.stamp = (it.stamp & -stamp_count) + stamp_count + (stamp_armed | which_);
    }

    // REQUIRES: t is not before the cursor
    TW_INLINED unsigned slot_of(tick t) const { return Shape::slot(Shape::level_of(t ^ origin_), t); }

    // Puts an entry at the end of the slot of its tick. The quiet ends with it: at its tick if that is on
    // level 0, and now if look-ahead may have to begin for it.
    TW_INLINED void place(const entry &e) {
        const unsigned slot = slot_of(e.due);
        put(slot, e);
        if (slot >= width_0)
            quiet_until_ = now_;
        else
            quiet_until_ = smaller(quiet_until_, e.due);
    }

    TW_INLINED void put(unsigned slot, const entry &e) {
        log &to = slot < width_0 && e.is_late() ? levels_.late[slot] : levels_.slots[slot];
        to.append(*pool_, e);
        levels_.busy.set(slot);
    }

    // Makes the entry of a record stale; or takes it back if it is the last of its log, so that starting and
    // stopping in turn leaves nothing behind. The last may also be an older one of the record, stale already.
    TW_INLINED void drop_entry(std::uint32_t cell, timing &it) {
        const unsigned slot = slot_of(larger(due_of(it) - it.lag, cursor_));
        log &of_entry = levels_.slots[slot];
        if (!of_entry.is_empty() && of_entry.back().cell == cell)
            take_back(of_entry, slot);
        make_stale(it);
    }

    void take_back(log &from, unsigned slot) {
        const log_chunk *const last = from.tail;
        if (!from.take_back(*pool_))
            return;
        --entries_;
        if (from.is_empty()) {
            if (last == sweep_at_)
                sweep_at_ = nullptr;
            clear_if_empty(slot);
        }
    }

    // What is in the queue belongs to the slot at the cursor.
    void clear_if_empty(unsigned slot) {
        if (!levels_.slots[slot].is_empty() || (slot < width_0 && !levels_.late[slot].is_empty()))
            return;
        if (slot != cursor_slot() || late_.is_empty())
            levels_.busy.clear(slot);
    }

    // Takes off the first entry of a log, for good; or so that it goes on elsewhere. A sweep that stands on
    // its chunk begins the log anew.
    TW_INLINED void drop_front(log &from) {
        --entries_;
        pop(from);
    }
    TW_INLINED void pop(log &from) {
        const log_chunk *const emptied = from.pop(*pool_);
        if (emptied != nullptr && (emptied == sweep_at_ || emptied == sweep_before_)) {
            sweep_before_ = nullptr;
            sweep_at_ = from.head;
        }
    }

    // --- the slot at the cursor ---

    // A log of the cursor's slot has become empty.
    void end_log(const log &emptied) {
        if (&emptied != &levels_.slots[cursor_slot()])
            late_.forget_if_empty(emptied);
        if (late_.is_empty())
            clear_if_empty(cursor_slot());
    }

    unsigned cursor_slot() const { return Shape::index(0, cursor_); }
    bool is_slot_busy() const { return levels_.busy.test(cursor_slot()); }

    // Looks at the first entry of the cursor's slot: its record is due, or it goes. Late entries are put in
    // order first, and then taken in turn with the others.
    step_result look_at_first() {
        const unsigned slot = cursor_slot();
        log &plain = levels_.slots[slot];
        if (levels_.late[slot].is_empty() && late_.is_empty()) [[likely]] {
            if (plain.is_empty()) {
                levels_.busy.clear(slot);
                return step_result::moved;
            }
            return look_at(plain);
        }
        if (bring_in_order(levels_.late[slot]))
            return step_result::moved;
        log &late = late_.first();
        if (plain.is_empty())
            return look_at_late(late);
        return goes_before(plain.front(), late_.first_order()) ? look_at(plain) : look_at_late(late);
    }

    // An entry that does not stay in its slot must not keep those behind it waiting.
    bool goes_before(const entry &e, std::uint64_t late) {
        const timing &it = records_.timing_of(e.cell);
        return !e.has_stamp(it.stamp) || due_of(it) > cursor_ || it.order < late;
    }

    step_result look_at_late(log &late) {
        const step_result result = look_at(late);
        if (result == step_result::moved)
            late_.forget_if_empty(late);
        return result;
    }

    // A stale entry is dropped. One whose record was moved on goes where that is due, as a late one.
    step_result look_at(log &from) {
        fetch_ahead(from);
        const entry e = from.front();
        timing &it = records_.timing_of(e.cell);
        if (e.has_stamp(it.stamp)) {
            const tick due = due_of(it);
            if (due <= cursor_) {
                first_ = &from;
                return step_result::due;
            }
            pop(from);
            it.lag = 0;
            place({due, e.cell, e.mark | 1});
        } else {
            drop_front(from);
        }
        return step_result::moved;
    }

    // One step towards knowing the earliest of the late entries. Returns false if it is known.
    bool bring_in_order(log &late) {
        if (!late.is_empty())
            add_some(late);
        else if (!late_.is_first_known())
            move_some();
        else
            return false;
        return true;
    }

    // Reads the order of the next late entries from their records, and leaves out those that are stale or
    // not due here.
    void add_some(log &late) {
        for (unsigned looks = 0; looks < order_queue::batch && !late.is_empty(); ++looks) {
            entry e = late.front();
            if (look_at(late) != step_result::due)
                continue;
            e.due = records_.timing_of(e.cell).order;
            pop(late);
            late_.add(e);
        }
    }

    // The record of what may be the first soon is fetched.
    void move_some() {
        log &from = late_.to_move();
        for (unsigned moves = 0; moves < order_queue::batch && !from.is_empty(); ++moves) {
            const entry e = from.front();
            pop(from);
            if (late_.put(e))
                records_.prefetch(e.cell);
        }
        late_.forget_if_empty(from);
    }

    // Fetches the records of the next chunk of a log that is being read; and, when the cursor has come to a
    // new slot, those of the first chunk of a busy slot some way ahead.
    TW_INLINED void fetch_ahead(const log &from) {
        const log_chunk &chunk = *from.head;
        if (chunk.next != nullptr && chunk.first == 0) {
            fetch(*chunk.next);
            __builtin_prefetch(chunk.next->next);
        }
        if (fetched_for_ != cursor_)
            fetch_slots();
    }
    void fetch(const log_chunk &chunk) {
        for (unsigned i = chunk.first; i != chunk.end; ++i)
            records_.prefetch(chunk.entries[i].cell);
    }
    // The first chunk of each busy slot is fetched for once, when the cursor is `slots_fetched_ahead` busy
    // slots before it; and the chunk itself some slots earlier, so that it can be read then.
    void fetch_slots() {
        fetched_for_ = cursor_;
        if (fetched_ <= cursor_) {
            fetched_ = cursor_;
            slots_fetched_ = 0;
        } else {
            --slots_fetched_;
        }
        for (; slots_fetched_ < slots_fetched_ahead; ++slots_fetched_) {
            const tick limit = cursor_ + width_0 / 2 - fetched_;
            const unsigned on = levels_.next_busy(0, fetched_, 0, static_cast<unsigned>(limit));
            if (on == 0)
                return;
            fetched_ += on;
            const log &slot = levels_.slots[Shape::index(0, fetched_)];
            if (!slot.is_empty())
                fetch(*slot.head);
            __builtin_prefetch(levels_.slots[Shape::index(0, fetched_ + slots_fetched_ahead)].head);
        }
    }

    // Fetches the part of a chunk, which may be null, that begins at an offset.
    static void fetch_chunk(const log_chunk *chunk, std::size_t at) {
        if (chunk != nullptr)
            __builtin_prefetch(reinterpret_cast<const char *>(chunk) + at);
    }

    // --- moving on ---

    unsigned lower_from(unsigned slot, unsigned to_level) {
        log &from = levels_.slots[slot];
        unsigned moved = 0;
        for (; moved < lowered_at_once && !from.is_empty(); ++moved) {
            const entry e = from.front();
            if (from.head->first % 4 == 0)
                fetch_chunk(from.head->next, from.head->first * sizeof(entry));
            pop(from);
            put(Shape::slot(to_level, e.due), e);
        }
        if (from.is_empty())
            levels_.busy.clear(slot);
        pay_for_moves(moved);
        return moved;
    }

    // Moves the cursor to the opening of the next busy slot, at most to `now`.
    void open_next() {
        tick distance = now_ - cursor_;
        for (unsigned level = 0; distance != 1 && level <= Shape::top; ++level) {
            const tick until = Shape::until_next(level, cursor_);
            if (until > distance)
                break;
            const tick slots = (distance - until) >> Shape::shift(level);
            const unsigned last =
                slots >= Shape::width(level) - 1 ? Shape::width(level) - 1 : static_cast<unsigned>(slots) + 1;
            if (const unsigned on = levels_.next_busy(level, cursor_, 0, last); on != 0)
                distance = smaller(distance, until + (on - 1) * Shape::span(level));
        }
        cursor_ += distance;
        const tick crossed = cursor_ ^ origin_;
        open_level_ = Shape::level_of(crossed);
        if (open_level_ == 0)
            origin_ = cursor_;
    }

    // --- searching ---

    tick search(tick lead) {
        tick best = never - cursor_;
        unsigned looks = entries_worth_a_look;
        for (unsigned level = 0; level <= Shape::top; ++level) {
            const tick first = Shape::until_next(level, cursor_);
            for (unsigned on = 0;
                 (on = levels_.next_busy(level, cursor_, on, Shape::width(level) - 1)) != 0;) {
                const tick opening = (on - 1) * Shape::span(level) + first;
                if (opening >= best)
                    break;
                const unsigned slot = Shape::slot(level, cursor_ + opening);
                best = smaller(best, look_into(levels_.slots[slot], opening, looks));
                if (level == 0)
                    best = smaller(best, look_into(levels_.late[slot], opening, looks));
                if (looks == 0)
                    best = smaller(best, opening - smaller(opening, lead_into(level, lead)));
            }
            if (level < Shape::top && best <= Shape::until_next(level + 1, cursor_))
                break;
        }
        return cursor_ + best;
    }

    // How long before a slot opens look-ahead begins.
    static constexpr tick lead_into(unsigned level, tick lead) {
        return level == 0 ? 0 : smaller(lead, Shape::span(level));
    }

    // The distance from the cursor to the first record that is due according to a log; or the greatest
    // distance if there is none, or no looks are left.
    tick look_into(const log &in, tick opening, unsigned &looks) {
        tick best = never;
        for (const log_chunk *chunk = in.head; chunk != nullptr; chunk = chunk->next)
            for (unsigned i = chunk->first; i != chunk->end; ++i) {
                if (looks == 0 || best == opening)
                    return best;
                --looks;
                const timing &it = records_.timing_of(chunk->entries[i].cell);
                if (chunk->entries[i].has_stamp(it.stamp))
                    best = smaller(best, due_of(it) - cursor_);
            }
        return best;
    }

    // --- sweeping ---
    //
    // Stale entries go when their slot opens. Until then they are memory, so they are swept away when there
    // are too many: log by log, each compacted in place. The levels are swept from the top down, as
    // entries come down while the sweep goes on.
    //
    // R6. A sweep begins when 4 stale > 3 armed + 2 spare. From then on each record that fires, is disarmed
    // or is moved to an earlier tick pays for `entries_swept` = 14 entries; nothing else makes entries stale,
    // or fewer armed. So a sweep of E = stale + armed entries, about 7/4 of those armed, is over after E / 14
    // = armed / 8 such calls. If all of them disarm, 7/8 of the records are then left, and no more than 3/4 +
    // 1/8 as many stale entries. An entry that moves to a log that is still to be swept is looked at once
    // more: the step that moves it pays for that.

    TW_INLINED void sweep_if_crowded() {
        if (sweep_next_ != 0 || 4 * (entries_ - armed_) > 3 * armed_ + 2 * spare) [[unlikely]]
            sweep_some(entries_swept);
    }

    TW_INLINED void pay_for_moves(unsigned moved) {
        if (sweep_next_ != 0) [[unlikely]]
            sweep_some(moved);
    }

    // Looks at so many entries, and at the rest of the last chunk. Not to be called while entries are in no
    // log.
    [[gnu::noinline]] void sweep_some(unsigned entries) {
        for (unsigned looks = 0; looks < entries;) {
            if (sweep_at_ == nullptr && !begin_next_log())
                return;
            looks += sweep_chunk();
        }
        if (sweep_at_ != nullptr)
            fetch(*sweep_at_);
    }

    // The logs in the order in which they are swept: by sweep_next_ - 1. Level 0 has two to a slot.
    log &log_to_sweep(unsigned i) {
        if (i < Shape::slots)
            return levels_.slots[swept_slot(i)];
        i -= Shape::slots;
        return i < width_0 ? levels_.late[i] : late_.at(i - width_0);
    }
    // The slot of such a log. REQUIRES: it is none of the queue
    static constexpr unsigned swept_slot(unsigned i) {
        if (i < top_slots)
            return Shape::first_slot(Shape::top) + i;
        if (i >= Shape::slots)
            return i - Shape::slots;
        const unsigned level = Shape::top - 1 - (i - top_slots) / width_0;
        return Shape::first_slot(level) + (i - top_slots) % width_0;
    }
    static constexpr unsigned top_slots = Shape::width(Shape::top);

    // Passes slots without entries, at most to the end of their level.
    unsigned skip_to_busy(unsigned i) const {
        if (i >= Shape::slots + width_0)
            return i;
        const unsigned slot = swept_slot(i);
        const unsigned level = slot / width_0;
        return i + levels_.busy.find(slot, Shape::first_slot(level) + Shape::width(level)) - slot;
    }

    // Finds the next log with entries. Returns false if the sweep is over.
    bool begin_next_log() {
        while (sweep_next_ != all_logs) {
            const unsigned at = skip_to_busy(sweep_next_);
            log &next = log_to_sweep(at);
            sweep_next_ = at + 1;
            if (next.is_empty())
                continue;
            swept_ = &next;
            sweep_at_ = next.head;
            return true;
        }
        sweep_next_ = 0;
        return false;
    }

    // Drops the stale entries of one chunk, and fills up the chunk before with those that are left. Returns
    // how many entries it has looked at.
    unsigned sweep_chunk() {
        log_chunk &chunk = *sweep_at_;
        log_chunk *const before = sweep_before_;
        log_chunk *const next = chunk.next;
        const unsigned looks = chunk.count();
        unsigned kept = chunk.first;
        for (unsigned i = chunk.first; i != chunk.end; ++i) {
            const entry e = chunk.entries[i];
            if (!is_current(e))
                --entries_;
            else if (before != nullptr && before->end < log_chunk::size)
                before->entries[before->end++] = e;
            else
                chunk.entries[kept++] = e;
        }
        chunk.end = static_cast<std::uint16_t>(kept);
        if (chunk.count() != 0)
            sweep_before_ = &chunk;
        else
            remove(chunk, before);
        sweep_at_ = next;
        if (next == nullptr)
            sweep_before_ = nullptr;
        return looks;
    }

    void remove(log_chunk &chunk, log_chunk *before) {
        (before != nullptr ? before->next : swept_->head) = chunk.next;
        if (swept_->tail == &chunk)
            swept_->tail = before;
        pool_->give_back(&chunk);
        if (!swept_->is_empty())
            return;
        const unsigned swept = sweep_next_ - 1;
        const bool is_in_slot = swept < Shape::slots + width_0;
        if (!is_in_slot)
            late_.forget_if_empty(*swept_);
        clear_if_empty(is_in_slot ? swept_slot(swept) : cursor_slot());
    }

    Records records_;
    chunk_pool *pool_;
    tick cursor_, origin_, now_;
    tick quiet_until_;     // see R7
    tick asked_for_;       // what next() last answered
    tick elapsed_;         // see take_elapsed
    std::uint32_t which_;  // a bit of the stamps of this wheel's entries

    // Records were fetched for `slots_fetched_` busy slots up to fetched_, when the cursor came to
    // fetched_for_.
    tick fetched_, fetched_for_;
    unsigned slots_fetched_;

    log *first_;  // where the record stands that step() said is due
    std::size_t entries_, armed_;
    unsigned open_level_;  // see R5

    unsigned sweep_next_;  // the log that is swept next; 0: no sweep is under way
    log *swept_;
    log_chunk *sweep_at_, *sweep_before_;  // the next chunk to sweep, and the one before it, if not null

    log_levels<Shape> levels_;
    order_queue late_;  // of the slot at the cursor
};

}  // namespace tickwheel::core
