// The records of a wheel: places, drops and orders their entries, and finds the due ones. See record_logs.hpp
// for the invariants.
#pragma once

#include "placement.hpp"

namespace tickwheel::core {
namespace {

#if TW_RUNTIME

template <class Shape> class record_placement : public placement<Shape> {
    using base = placement<Shape>;

  protected:
    using base::cursor, base::cursor_slot, base::next_round, base::origin, base::shifting, base::slot_to_join,
        base::slots;

  public:
    record_logs<Shape> &logs() const { return *slots.records; }

    // Call once, before the other functions.
    void begin_records(record_logs<Shape> &zeroed) { slots.records.logs = &zeroed; }

    // --- arming: see records.hpp ---------------------------------------------------------------

    TW_INLINED void arm_record(timing &record, tick to) {
        ++logs().armed;
        place_with_new_entry(record, to);
    }

    // A move to a tick later than the entry's touches only the record, unless `lag` overflows, or the entry
    // may be at the cursor, where the queue may already hold it by the record's old order.
    TW_INLINED void move_record(timing &record, tick to) {
        const tick of_entry = record.due - record.lag;
        if (to > of_entry && to - of_entry <= UINT32_MAX && of_entry + logs().offset > this->earliest()) {
            record.lag = static_cast<std::uint32_t>(to - of_entry);
            record.due = to;
            record.order = ++this->order;
            return;
        }
        drop_entry(record);
        place_with_new_entry(record, to);
        slots.sweep_if_crowded();
    }

    TW_INLINED void disarm_record(timing &record) {
        --logs().armed;
        drop_entry(record);
        slots.sweep_if_crowded();
    }

    // Takes the due record off the wheel. REQUIRES: look_at_cursor() has just found it
    timing &take_due_record() {
        record_logs<Shape> &all = logs();
        log &from = *all.due_log;
        timing &record = *from.front().record;
        TW_ASSERT(all.armed != 0 && is_armed(record));
        fetch_ahead(from);
        --all.armed;
        record.stamp &= ~stamps::armed;
        drop_front(from);
        slots.sweep_if_crowded();
        return record;
    }

    // Hands a due record, or null, to the records' owner.
    void call_owner(timing *fired) TW_YIELDS(wheels_lock) {
        logs().caller(fired, this->now - logs().offset, logs().caller_arg);
        this->fires_record = false;
    }

  protected:
    // --- placing -------------------------------------------------------------------------------

    TW_INLINED void place_with_new_entry(timing &record, tick to) {
        record_logs<Shape> &all = logs();
        record.due = to;
        record.order = ++this->order;
        record.lag = 0;
        record.stamp = stamps::next(record.stamp, all.wheel_bit);
        ++all.entries;
        place_entry({&record, 0, record.stamp}, larger(all.due_of(record), this->earliest()));
    }

    // REQUIRES: t is not before the cursor
    TW_INLINED void place_entry(entry e, tick t) {
        e.low = static_cast<std::uint32_t>(t);
        put_entry(e, slot_to_join(t));
    }

    TW_INLINED void put_entry(const entry &e, unsigned slot) {
        record_logs<Shape> &all = logs();
        slots.busy.set(slot);
        if (unlikely(e.is_late() && slot < Shape::width(0))) {
            all.late[slot].append(*all.chunks, e);
            return;
        }
        all.plain[slot].append(*all.chunks, e);
    }

    // --- dropping ------------------------------------------------------------------------------

    // Makes the entry of a record stale, or takes it back if it is the last of its log, so that starting and
    // stopping in turn leaves no stale entries. The last entry may also be an older one of the record,
    // already stale.
    TW_INLINED void drop_entry(timing &record) {
        record_logs<Shape> &all = logs();
        const unsigned slot = Shape::slot_from(origin, larger(all.due_of(record) - record.lag, cursor));
        log &of_entry = all.plain[slot];
        if (!of_entry.is_empty() && of_entry.back().record == &record) {
            all.take_back(of_entry);
            if (of_entry.is_empty())
                slots.clear_if_empty(slot);
        }
        record.stamp &= ~stamps::armed;
    }

    // Take off the first entry of one of the cursor's logs: drop_front drops it, pop is for placing it
    // elsewhere.
    void drop_front(log &from) {
        --logs().entries;
        pop(from);
    }
    void pop(log &from) {
        logs().pop(from);
        if (!from.is_empty())
            return;
        if (logs().queue.owns(from))
            logs().queue.forget_if_empty(from);
        slots.clear_if_empty(cursor_slot());
    }

    // --- the slot at the cursor ----------------------------------------------------------------

    // Looks at the cursor's slot, which has its bit set. If no entry or node at a front has to move first,
    // the timer that was armed first fires (P3): the first node, the first plain entry or the earliest late
    // one.
    next_step look_at_cursor() {
        record_logs<Shape> &all = logs();
        const unsigned slot = cursor_slot();
        const tw_link &ring = slots.rings[slot];
        all.due_log = nullptr;
        if (!all.plain[slot].is_empty() && !consider(all.plain[slot]))
            return next_step::move;
        if (unlikely(all.has_late(slot)) && !consider_late(slot))
            return next_step::move;
        if (is_empty(ring))
            return next_step::fire_record;
        const tw_node &node = node_of(behind(ring));
        if (all.due_log == nullptr || this->look_at_node(node) == next_step::move)
            return this->look_at_node(node);
        return node.order < all.due_log->front().record->order ? next_step::fire : next_step::fire_record;
    }

    // True if the first entry of a log is due; false if it must move.
    bool is_due(const log &in) const {
        const entry &e = in.front();
        return e.is_current() && logs().due_of(*e.record) <= cursor;
    }

    // Makes a log the due one if its first record was armed before that of the former. Returns false if the
    // first entry must move.
    bool consider(log &in) {
        if (!is_due(in))
            return false;
        log *&first = logs().due_log;
        if (first == nullptr || in.front().record->order < first->front().record->order)
            first = &in;
        return true;
    }
    bool consider_late(unsigned slot) {
        record_logs<Shape> &all = logs();
        return all.late[slot].is_empty() && all.queue.is_first_known() && consider(all.queue.first());
    }

    // Moves the entries that look_at_cursor() has found, at most `most`. Returns the number of steps: 0 if it
    // found a node.
    std::uint32_t clean_cursor(std::uint32_t most) {
        if (!slots.records.exist())
            return 0;
        record_logs<Shape> &all = logs();
        const unsigned slot = cursor_slot();
        log &plain = all.plain[slot];
        std::uint32_t moved = 0;
        if (!plain.is_empty() && !is_due(plain)) {
            clean_front(plain);
            moved = 1;
        } else if (all.has_late(slot) && !consider_late(slot)) {
            moved = bring_in_order(slot, smaller(most, order_queue::batch));
        }
        slots.pay_for_moves(moved);
        return moved;
    }

    // Drops a stale entry. An entry whose record was moved goes to the record's tick, marked as late.
    void clean_front(log &from) {
        record_logs<Shape> &all = logs();
        entry e = from.front();
        fetch_ahead(from);
        if (e.is_current()) {
            pop(from);
            e.record->lag = 0;
            e.mark |= stamps::late;
            place_entry(e, all.due_of(*e.record));
        } else {
            drop_front(from);
        }
    }

    // Takes some steps towards finding the earliest late entry. Returns their number.
    std::uint32_t bring_in_order(unsigned slot, std::uint32_t most) {
        record_logs<Shape> &all = logs();
        if (!all.late[slot].is_empty())
            return add_some(all.late[slot], slot, most);
        if (!all.queue.is_first_known())
            return move_some_in_queue(most);
        clean_front(all.queue.first());
        return 1;
    }

    // Adds the next late entries to the queue, with the orders of their records. Leaves out entries that are
    // stale or not due here.
    std::uint32_t add_some(log &late, unsigned slot, std::uint32_t most) {
        record_logs<Shape> &all = logs();
        std::uint32_t looks = 0;
        for (; looks != most && !late.is_empty(); ++looks) {
            if (!is_due(late)) {
                clean_front(late);
                continue;
            }
            fetch_ahead(late);
            all.queue_slot = slot;
            all.queue.add(*all.chunks, late.front());
            pop(late);
        }
        return looks;
    }

    // Moves some entries in the queue, and fetches the records of entries that may soon be first.
    std::uint32_t move_some_in_queue(std::uint32_t most) {
        record_logs<Shape> &all = logs();
        log &from = all.queue.to_move();
        std::uint32_t moves = 0;
        for (; moves != most && !from.is_empty(); ++moves) {
            const entry e = from.front();
            all.pop(from);
            if (all.queue.put(*all.chunks, e))
                __builtin_prefetch(e.record, 1);
        }
        all.queue.forget_if_empty(from);
        return moves;
    }

    TW_INLINED void fetch_ahead(const log &from) {
        fetch_next_chunk(from);
        if (!logs().fetches.is_at(cursor))
            logs().fetches.go_to(cursor, slots);
    }
};

#else

template <class Shape> class record_placement : public placement<Shape> {
  protected:
    static constexpr std::uint32_t clean_cursor(std::uint32_t) { return 0; }
};

#endif

}  // namespace
}  // namespace tickwheel::core
