// Records on the wheels of a test; see records.h. They fire, and are armed again, as the records of
// src/timers are (record_life.cpp).
#include "records.h"

#if TW_RUNTIME
#include <tickwheel/port.h>

#include "core/door.h"
#include "core/periodic.hpp"
#include "core/records.hpp"

namespace {

using namespace tickwheel::core;

// src/timers also aligns chunks to this.
constexpr std::size_t cache_line = 64;

static_assert(sizeof(timing) <= sizeof test_record::timing && alignof(timing) <= alignof(test_record));

timing &timing_of(test_record *record) { return *reinterpret_cast<timing *>(record->timing); }
const timing &timing_of(const test_record *record) {
    return *reinterpret_cast<const timing *>(record->timing);
}

// --- the lock of a wheel, if it has one --------------------------------------------------

void take(const wheel_lock &of) {
    if (of.word != nullptr)
        lock(of);
}
void give_back(const wheel_lock &of) {
    if (of.word != nullptr)
        unlock(of);
}

class holding {
  public:
    explicit holding(const test_records *on) : lock_(lock_of(on->w)) { take(lock_); }
    ~holding() { give_back(lock_); }
    holding(const holding &) = delete;
    holding &operator=(const holding &) = delete;

  private:
    const wheel_lock lock_;
};

// --- firing -------------------------------------------------------------------------------

// Arms a periodic record that fires for its next tick, unless this fire is its last.
void arm_again(const test_records &on, test_record &record, tick present) {
    struct {
        tick expiry, period;
        std::uint32_t fires_left;
        std::uint8_t missed_and_label;
    } next = {timing_of(&record).due, record.period, record.fires_left, missed_and_label(record.missed, 0)};
    if (!set_to_next(next, present, &record.overruns) || next.expiry > last_tick - on.offset)
        return;
    record.fires_left = next.fires_left;
    arm_record(on.w, timing_of(&record), next.expiry, 0);
}

// The record_caller. RELEASES AND REACQUIRES: wheel lock
void fire(timing *due, tick present, void *arg) {
    auto &on = *static_cast<test_records *>(arg);
    if (due == nullptr) {
        ++on.abandoned;
        return;
    }
    auto &record = *reinterpret_cast<test_record *>(due);
    record.overruns = 0;
    if (record.period != 0)
        arm_again(on, record, present);
    const wheel_lock released = lock_of(on.w);
    give_back(released);
    record.fn(&record);
    take(released);
}

// --- memory -------------------------------------------------------------------------------

constexpr std::size_t whole_lines(std::size_t bytes) {
    return (bytes + cache_line - 1) / cache_line * cache_line;
}

// Takes so many bytes, in whole cache lines.
void *take(unsigned char *&from, std::size_t bytes) {
    unsigned char *const taken = from;
    from += whole_lines(bytes);
    return taken;
}

}  // namespace

std::size_t test_records_size(unsigned wheels, std::size_t records) {
    return cache_line + whole_lines(sizeof(chunk_pool)) + wheels * whole_lines(size_of_records()) +
           chunks_for(records, wheels) * sizeof(log_chunk);
}

void test_records_begin(test_records on[], unsigned wheels, std::size_t records, void *memory,
                        tw_tick offset) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory);
    auto *from = static_cast<unsigned char *>(memory) + (whole_lines(address) - address);
    auto &shared = *static_cast<chunk_pool *>(take(from, sizeof(chunk_pool)));
    if (wheels == 2)
        tw_core_share_lock(on[1].w, on[0].w);
    for (unsigned i = 0; i < wheels; ++i) {
        on[i].offset = offset;
        on[i].abandoned = 0;
        begin_records(on[i].w, take(from, size_of_records()), shared, offset, i == 1, fire, &on[i]);
    }
    shared.add(from, chunks_for(records, wheels));
}

void test_records_shift(test_records *on, tw_tick by) {
    tw_core_shift(on->w, by);
    on->offset += by;
}

void test_record_arm(test_records *on, test_record *record, tw_tick at) {
    const holding held(on);
    arm_record(on->w, timing_of(record), at - on->offset, 0);
}

void test_record_move(test_records *on, test_record *record, tw_tick at) {
    const holding held(on);
    move_record(on->w, timing_of(record), at - on->offset, 0);
}

void test_record_disarm(test_records *on, test_record *record) {
    const holding held(on);
    disarm_record(on->w, timing_of(record));
}

tw_tick test_record_choose(test_records *on, tw_tick at, tw_tick slack) {
    const holding held(on);
    return choose_tick(on->w, at, at + slack);
}

bool test_record_is_armed(const test_record *record) { return is_armed(timing_of(record)); }

tw_tick test_record_due(const test_records *on, const test_record *record) {
    return timing_of(record).due + on->offset;
}

bool test_records_is_in_callback(const test_records *on) { return tw_core_is_in_callback(on->w) != 0; }
void test_records_forget_interruption(const test_records *on) { tw_core_forget_interruption(on->w); }
#endif
