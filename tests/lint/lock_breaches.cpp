// Breaches of the contracts of locks. lint.sh checks that clang refuses the lines that say so, and no others.
#include "core/api_guard.hpp"
#include "timers/record_life.hpp"
#include "workers/pool.hpp"

using namespace tickwheel;

void holds_mutex(tw_workers &pool) {
    const base::mutex_hold hold(&pool.mutex);
    workers::announce_change(pool);
}
void holds_no_mutex(tw_workers &pool) {
    workers::announce_change(pool);  // refused
}
void holds_other_mutex(tw_workers &pool, tw_workers &other) {
    const base::mutex_hold hold(&other.mutex);
    workers::announce_change(pool);  // refused
}
bool reads_without_mutex(const tw_workers &pool) {
    return pool.settling;  // refused
}
void keeps_mutex(tw_workers &pool) { pool.mutex.lock(); }  // refused

void holds_no_record_lock(tw *wheel, core::timing &record) {
    core::disarm_record(wheel, record);  // refused
}
void works_while_user_is_called(timers::record_set &set, timers::record &timer, timers::record_lock &lock)
    TW_YIELDS(core::wheels_lock) {
    const timers::user_call unlocked(set, timer, lock);
    timers::retire(set, timer);  // refused
}
int enters_wheel(tw *wheel) {
    if (const int error = core::enter(wheel); error != 0)
        return error;
    return core::leave(wheel, 0);
}
int does_not_leave_wheel(tw *wheel) {
    if (const int error = core::enter(wheel); error != 0)
        return error;
    return 0;
}  // refused
