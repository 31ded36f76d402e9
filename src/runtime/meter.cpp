// How long groups of callbacks ran, how late they were, and why. See meter.hpp.
#include "meter.hpp"

namespace tickwheel::runtime {

void fire_meter::begin(const timeline &line, std::int64_t reading) {
    line_ = &line;
    reading_ = reading;
    is_timed_ = !line.clock.is_virtual();
    since_ = 0;
    until_first_ = is_timed_ ? -1 : 0;
    follows_ = false;
    if (is_timed_)
        read_at_ = begun_ = stopwatch::now();
}

void fire_meter::end(const timeline &line, bool has_more) {
    pause();
    left_until_.*line.deadline_field = has_more ? reading_ : -1;
}

// P2. Three things can make a fire late. An earlier turn used up its budget when this timer was already due;
// or the thread woke late, by the time from the deadline to the start of the thread's first callback; or the
// callbacks before this one took their time. If the last two come together, the larger share is the cause.
//
// Setting a wall clock passes deadlines, or takes them back, without making anything late. So on that clock a
// fire is late by at most the lateness of the wake-up plus the time since.
fire_lateness fire_meter::lateness(std::int64_t due) const {
    const std::int64_t slept_from = sleep_.from.*line_->deadline_field;
    std::int64_t ns = reading_ - due + since_;
    if (line_->can_be_set && ns > sleep_.late + since_)
        ns = sleep_.late + since_;
    if (ns < 0)
        ns = 0;
    if (due <= left_until_.*line_->deadline_field)
        return {ns, TW_LATE_BUDGET};
    const std::int64_t overslept = reading_ + until_first_ - (due > slept_from ? due : slept_from);
    return {ns, overslept >= ns - overslept ? TW_LATE_WAKING : TW_LATE_CALLBACKS};
}

// True for most fires on virtual time, whose clock stands still while callbacks run.
bool fire_meter::is_in_time(std::int64_t due) const {
    return !is_timed_ && due == reading_ && due > left_until_.*line_->deadline_field;
}

void fire_meter::begin_group(std::int64_t due, unsigned kind) {
    if (group_.is_open())
        end_group(0);
    if (is_timed_ && !follows_) {
        begun_ = stopwatch::now();
        since_ = stopwatch::between(read_at_, begun_);
        if (until_first_ < 0)
            until_first_ = since_;
    }
    group_.kind = kind;
    group_.due = due;
    group_.counts = &counts.labels[group_.label()];
    group_.first = group_.counts->fires.load(std::memory_order_relaxed);
    group_.last = group_.first + room_;
}

void fire_meter::show_callback(unsigned label, const tw_node *node, tw_handle handle, const void *fn) {
    group_.last = group_.first + 1;
    running.describe(label, node, handle, fn);
    running.is_passed_on.store(group_.elsewhere(), std::memory_order_relaxed);
    running.begin(is_timed_ ? begun_ : stopwatch::now());
}

// No group is open if the last callback has forked, and this is the child.
void fire_meter::end_group(std::uint64_t overruns) {
    const group ended = group_;
    group_.kind = group::none;
    if (!ended.is_open())
        return;
    const auto fires =
        static_cast<unsigned>(ended.counts->fires.load(std::memory_order_relaxed) - ended.first);
    if (fires == 0)
        return;
    const stopwatch::reading seen_since = running.end();
    if (seen_since == 0 && is_in_time(ended.due)) [[likely]] {
        late[TW_LATE_WAKING].buckets::add(0, fires);
        return;
    }
    const fire_lateness late_by = lateness(ended.due);  // before time_group moves the time on
    const unsigned delayed = is_timed_ && time_group(ended, fires) ? fires - 1 : 0;
    add_late(late_by, fires - delayed);
    if (delayed != 0)
        add_late(lateness(ended.due), delayed);
    if (seen_since != 0) [[unlikely]]
        record({seen_since, is_timed_ ? begun_ : stopwatch::now(), ended.due, late_by, overruns,
                ended.elsewhere() ? run_kind::passed_on : run_kind::fired, running});
}

void fire_meter::add_late(const fire_lateness &by, unsigned fires) { late[by.cause].add(by.ns, fires); }

// True if one of several callbacks was slow. The meter cannot know which one, so all others count as late
// because of it.
bool fire_meter::time_group(const group &ended, unsigned fires) {
    const stopwatch::reading now = stopwatch::now();
    const std::int64_t ns = stopwatch::between(begun_, now);
    const std::int64_t longest = ns - (fires - 1) * usual_;  // if the others were as usual
    begun_ = now;
    since_ += ns;
    follows_ = true;
    if (fires > 1 && longest - usual_ >= limit_of_bucket(0)) {
        add_runs(ended, longest, 1);
        add_runs(ended, usual_, fires - 1);
        room_ = 1;
        return true;
    }
    usual_ = ns / fires;
    add_runs(ended, usual_, fires);
    if (ns > longest_group)
        room_ = 1;
    else if (fires == room_ && ns < longest_group / 2 && room_ < largest_group)
        room_ *= 2;
    return false;
}

void fire_meter::add_runs(const group &of, std::int64_t ns, unsigned runs) {
    if (!of.elsewhere())
        counts.add_runs(of.label(), ns, runs);
}

}  // namespace tickwheel::runtime
