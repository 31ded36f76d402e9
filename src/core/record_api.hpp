// The functions of records.hpp for any shape of wheel. c_api.cpp instantiates them for the library's wheel,
// tests for other shapes.
#pragma once

#include "api_guard.hpp"
#include "engine.hpp"

#if TW_RUNTIME

namespace tickwheel::core {
namespace {

template <class Wheel> struct record_api {
    using logs = record_logs<typename Wheel::shape>;

    static Wheel &wheel_of(tw *w) TW_REQUIRES(wheels_lock) { return wheel_in<Wheel>(w); }

    static std::size_t size() { return sizeof(logs); }
    static std::size_t chunks_for(std::size_t records, unsigned wheels) {
        return logs::chunks_for(records, wheels);
    }

    static void begin(tw *w, void *zeroed, chunk_pool &chunks, tick offset, bool is_second,
                      record_caller *caller, void *arg) {
        auto *const made = new (zeroed) logs;
        made->chunks = &chunks;
        made->caller = caller;
        made->caller_arg = arg;
        made->offset = offset;
        made->wheel_bit = is_second ? stamps::second_wheel : 0;
        lock(state_in(w));
        wheel_of(w).begin_records(*made);
        unlock(state_in(w));
    }

    static wheel_lock lock_of(tw *w) {
        const wheel_state &wheel = state_in(w);
        return {wheel.how == locking::unlocked ? nullptr : wheel.guard, wheel.how == locking::observed};
    }

    static void arm(tw *w, timing &record, tick due, std::uint64_t moment = 0) TW_REQUIRES(wheels_lock) {
        wheel_of(w).begin_order(moment);
        wheel_of(w).arm_record(record, due);
    }
    static void move(tw *w, timing &record, tick due, std::uint64_t moment = 0) TW_REQUIRES(wheels_lock) {
        wheel_of(w).begin_order(moment);
        wheel_of(w).move_record(record, due);
    }
    static void disarm(tw *w, timing &record) TW_REQUIRES(wheels_lock) { wheel_of(w).disarm_record(record); }

    static tick choose_tick(tw *w, tick first, tick last) TW_REQUIRES(wheels_lock) {
        wheel_of(w).choose(&first, last - first);
        return first;
    }
    static void count_cancelled(tw *w, unsigned label, std::uint64_t fires) TW_REQUIRES(wheels_lock) {
        wheel_of(w).count_cancelled(label, fires);
    }
};

}  // namespace
}  // namespace tickwheel::core

#endif
