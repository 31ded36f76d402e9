// Lanes: several wheels that fire in one order (P3). Random lives on up to four lanes are compared with one
// sorted list; then come the cases that such a life rarely meets.
//
// The lanes advance as the runtime advances them (src/runtime/lanes.cpp): always the lane with the first
// place, up to the first place of the others.
#include <tickwheel/port.h>

#include <csetjmp>
#include <cstdlib>
#include <memory>
#include <set>
#include <vector>

#include "core/door.h"
#include "core/records.hpp"
#include "support/environment.h"
#include "support/random.h"
#include "support/sanitized.h"
#include "support/test.h"

namespace {

using namespace tickwheel::core;

constexpr unsigned most_lanes = 4;
constexpr std::uint32_t parts = 4;  // in a tick, for grids
constexpr tw_core_place whole = {TW_NEVER, UINT64_MAX}, unknown = {0, 0}, none = {TW_NEVER, 0};

bool is_before(const tw_core_place &a, const tw_core_place &b) {
    return a.tick != b.tick ? a.tick < b.tick : a.order < b.order;
}

// --- lanes that advance together -----------------------------------------------------------

class lanes : public tw_core_lanes {
  public:
    explicit lanes(tick start) : tw_core_lanes{start, count_moment} {}

    bool is_made(unsigned number) const { return wheels_[number] != nullptr; }

    // Makes the lane if it does not exist.
    tw *lane(unsigned number) {
        if (is_made(number))
            return wheels_[number].get();
        wheels_[number] = std::make_unique<tw>();
        tw *const made = wheels_[number].get();
        assert_int_equal(tw_init(made, cursor, 0), 0);
        tw_core_join_lanes(made, this);
        return made;
    }
    std::uint64_t now() { return count_moment(this); }

    template <class Do> void for_each(Do what) {
        for (unsigned number = 0; number != most_lanes; ++number)
            if (is_made(number))
                what(wheels_[number].get(), number);
    }

    // A timer was armed in a lane, perhaps by a callback.
    void touch(unsigned number, tick due) {
        if (is_advancing_ && due <= present_)
            touched_ |= std::uint64_t{1} << number;
    }

    // One call of tw_core_advance_part, which also checks the lane.
    int advance_part(unsigned number, tick present, const tw_core_place &last, std::uint32_t &budget) {
        tw_tick published = 0;
        tw_core_part part = {none, &published};
        const int left = tw_core_advance_part(lane(number), present, &last, &touched_, &budget, &part);
        next[number] = part.next;
        assert_int_equal(tw_check(lane(number), tell, nullptr), 0);
        assert_true(published <= tw_next(lane(number)) || published <= present + 1);
        return left;
    }

    int advance(tick present, std::uint32_t budget) {
        is_advancing_ = true;
        present_ = present;
        const int left = advance_all(budget);
        is_advancing_ = false;
        return left;
    }

    tw_core_place next[most_lanes];  // as the last part of each lane has said

  private:
    static std::uint64_t count_moment(const tw_core_lanes *self) {
        return ++static_cast<const lanes *>(self)->moments_ << 16;
    }
    static void tell(const char *broken, const tw_node *, void *) { print_message("broken: %s\n", broken); }

    int advance_all(std::uint32_t budget) {
        for (tw_core_place &each : next)
            each = none;
        for_each([this](tw *, unsigned number) { next[number] = unknown; });
        do {
            if (fire_all(budget) != 0)
                return 1;
            for (unsigned number = 0; number != most_lanes; ++number)
                if (is_made(number) && advance_part(number, present_, whole, budget) != 0)
                    return 1;
        } while (touched_ != 0);
        cursor = present_;
        return 0;
    }

    int fire_all(std::uint32_t &budget) {
        for (;;) {
            look_again_at_touched();
            unsigned first = 0;
            for (unsigned number = 1; number != most_lanes; ++number)
                if (is_before(next[number], next[first]))
                    first = number;
            if (next[first].tick == never)
                return 0;
            tw_core_place second = none;
            for (unsigned number = 0; number != most_lanes; ++number)
                if (number != first && is_before(next[number], second))
                    second = next[number];
            if (advance_part(first, present_, second, budget) != 0)
                return 1;
        }
    }

    void look_again_at_touched() {
        for (unsigned number = 0; number != most_lanes; ++number)
            if ((touched_ >> number & 1) != 0) {
                next[number] = unknown;
            }
        touched_ = 0;
    }

    mutable std::uint64_t moments_ = 0;
    std::unique_ptr<tw> wheels_[most_lanes];
    std::uint64_t touched_ = 0;
    bool is_advancing_ = false;
    tick present_ = 0;
};

// --- a random life ---------------------------------------------------------------------------

std::uint64_t seed_of_life;

// Ends the program at once, because a failure in a callback must not jump out of the callback.
void must_hold(bool holds, const char *what, int line) {
    if (holds)
        return;
    print_error("%s:%d: TW_SEED=%llu: not so: %s\n", __FILE__, line,
                static_cast<unsigned long long>(seed_of_life), what);
    std::abort();
}
#define must(condition) must_hold(condition, #condition, __LINE__)

class life;

struct test_timer {
    life *of;
    unsigned number, lane;
    bool is_record;
    tw_node node;
    timing record;

    // What the list says.
    bool is_armed;
    tick due, stands_at;
    std::uint64_t order;
    std::uint64_t deadline, period;  // in parts; period 0: fires once
    std::uint32_t fires_left;
};

struct by_order {
    bool operator()(const test_timer *a, const test_timer *b) const {
        return a->stands_at != b->stands_at ? a->stands_at < b->stands_at : a->order < b->order;
    }
};

class life {
  public:
    static constexpr unsigned nodes = 40, records_of_lane = 40;

    explicit life(std::uint64_t seed)
        : seed_(seed), count_(1 + unsigned(below(most_lanes))), present_(below(4) * 5000), lanes_(present_) {
        has_records_ = below(4) != 0;
        chunks_ = tickwheel::core::chunks_for(records_of_lane, 1);
        timers_.resize(nodes + (has_records_ ? count_ * records_of_lane : 0));
        for (unsigned i = 0; i != timers_.size(); ++i) {
            test_timer &timer = timers_[i];
            timer.of = this;
            timer.number = i;
            timer.is_record = i >= nodes;
            timer.lane = timer.is_record ? (i - nodes) / records_of_lane : 0;
            must(tw_node_init(&timer.node, fire_node, &timer) == 0);
        }
    }
    ~life() {
        lanes_.for_each([](tw *w, unsigned) { tw_cancel_all(w, nullptr, nullptr); });
        for (void *each : memory_)
            std::free(each);
    }
    life(const life &) = delete;
    life &operator=(const life &) = delete;

    std::uint64_t fires = 0;

    void live(unsigned steps) {
        for (unsigned step = 0; step != steps; ++step) {
            const unsigned calls = unsigned(below(12));
            for (unsigned i = 0; i != calls; ++i)
                call();
            pass(distance());
            check();
        }
    }

  private:
    std::uint64_t below(std::uint64_t bound) { return random_below(&seed_, bound); }

    // Mostly a few ticks; sometimes so many that slots of higher levels open.
    tick distance() {
        static constexpr tick spans[] = {3, 3, 3, 8, 30, 700, 70'000, 3'000'000, tick{1} << 26};
        return below(spans[below(sizeof spans / sizeof *spans)]);
    }

    tw *lane(unsigned number) {
        const bool is_new = !lanes_.is_made(number);
        tw *const w = lanes_.lane(number);
        if (is_new && has_records_) {
            void *const logs = std::calloc(1, size_of_records());
            void *const chunks = std::calloc(chunks_, sizeof(log_chunk));
            memory_.insert(memory_.end(), {logs, chunks});
            pools_[number].add(chunks, chunks_);
            arg_of_[number] = {this, w};
            begin_records(w, logs, pools_[number], 0, false, fire_record, &arg_of_[number]);
        }
        return w;
    }

    // --- calls, from outside and from callbacks --------------------------------------------

    void call() {
        test_timer &timer = timers_[static_cast<std::size_t>(below(timers_.size()))];
        const std::uint64_t which = below(20);
        if (which == 0 && is_firing_)
            interrupt();
        else if (which < 5)
            cancel(timer);
        else
            arm(timer);
    }

    // In the past only while no lane lags behind: there an overdue timer has no fixed place.
    tick random_due() {
        const tick around = lanes_.cursor;
        return lanes_are_level_ && below(6) == 0 ? around - below(around < 40 ? around + 1 : 40)
                                                 : around + distance();
    }

    void expect(test_timer &timer, tick due) {
        timer.due = due;
        timer.stands_at = due > lanes_.cursor ? due : tick{lanes_.cursor};
        timer.order = ++orders_;
        timer.is_armed = true;
        list_.insert(&timer);
    }
    void forget(test_timer &timer) {
        list_.erase(&timer);
        timer.is_armed = false;
    }

    void arm(test_timer &timer) {
        const tick due = random_due();
        const bool was_armed = timer.is_armed;
        if (!was_armed && !timer.is_record)
            timer.lane = unsigned(below(count_));
        tw *const w = lane(timer.lane);
        if (was_armed)
            forget(timer);
        const std::uint64_t moment = lanes_.now();
        if (timer.is_record)
            arm_record_at(w, timer, was_armed, due, moment);
        else
            arm_node_at(w, timer, was_armed, due, moment);
        expect(timer, due);
        lanes_.touch(timer.lane, due);
    }

    void arm_record_at(tw *w, test_timer &timer, bool was_armed, tick due, std::uint64_t moment) {
        const wheel_lock on = lock_of(w);
        lock(on);
        (was_armed ? move_record : tickwheel::core::arm_record)(w, timer.record, due, moment);
        unlock(on);
        if (!was_armed)
            timer.period = 0;
        if (!was_armed && below(4) == 0)
            repeat(timer, parts * (1 + distance()));
        timer.deadline = parts * due;
    }

    void arm_node_at(tw *w, test_timer &timer, bool was_armed, tick due, std::uint64_t moment) {
        std::uint64_t early = 0;
        const std::uint64_t which = below(6);
        if (was_armed && which == 0) {
            must(tw_core_move(w, &timer.node, due, moment) == 0);
        } else if (which == 1 && (remembers_delay(timer.node) || (was_armed && timer.period != 0))) {
            tick to = due;
            must(tw_core_again(w, &timer.node, again_at, &to, moment) >= 0);
        } else if (which == 2) {
            timer.period = 0;
            must(tw_core_arm_with_delay(w, &timer.node, due, 5, moment) >= 0);
        } else if (which == 3) {
            const tick period = 1 + distance();
            repeat(timer, parts * period);
            must(tw_core_arm_every(w, &timer.node, due, period, TW_BURST, timer.fires_left, moment) >= 0);
        } else if (which == 4) {
            repeat(timer, parts + below(parts) + parts * distance());
            early = due == 0 ? 0 : below(parts);
            const tw_core_grid grid = {due,      std::uint32_t(early), parts, timer.period,
                                       TW_BURST, timer.fires_left,     moment};
            must(tw_core_arm_grid(w, &timer.node, &grid) >= 0);
        } else {
            timer.period = 0;
            must(tw_core_arm_at(w, &timer.node, due, moment) >= 0);
        }
        timer.deadline = parts * due - early;
    }
    static bool remembers_delay(const tw_node &node) { return node.part == TW_CORE_ONCE && node.period != 0; }
    static tick again_at(const tw_node *, void *to) { return *static_cast<tick *>(to); }

    void repeat(test_timer &timer, std::uint64_t period) {
        timer.period = period;
        timer.fires_left = 1 + std::uint32_t(below(4));
    }

    void cancel(test_timer &timer) {
        if (timer.is_record && !timer.is_armed)
            return;
        tw *const w = lane(timer.lane);
        if (timer.is_record) {
            const wheel_lock on = lock_of(w);
            lock(on);
            disarm_record(w, timer.record);
            unlock(on);
        } else {
            must(tw_cancel(w, &timer.node) == timer.is_armed);
        }
        if (timer.is_armed)
            forget(timer);
    }

    void interrupt() {
        const unsigned number = unsigned(below(count_));
        if (lanes_.is_made(number))
            tw_core_interrupt(lane(number));
    }

    // --- fires --------------------------------------------------------------------------------

    struct records_arg {
        life *of;
        tw *w;
    };

    // Returns true if the timer fires again, which it is armed for already.
    bool fired(test_timer &timer) {
        ++fires;
        must(!list_.empty());
        must(*list_.begin() == &timer);
        must(timer.stands_at <= present_);
        must(lanes_.cursor == timer.stands_at);
        forget(timer);
        if (timer.period == 0 || --timer.fires_left == 0) {
            timer.period = 0;
            return false;
        }
        timer.deadline += timer.period;
        expect(timer, (timer.deadline + parts - 1) / parts);
        lanes_.touch(timer.lane, timer.due);
        return true;
    }

    void call_from_inside() {
        is_firing_ = true;
        for (std::uint64_t calls = below(4) == 0 ? below(4) : 0; calls != 0; --calls)
            call();
        is_firing_ = false;
    }

    static void fire_node(tw_node *, void *arg) {
        auto &timer = *static_cast<test_timer *>(arg);
        must(tw_due(timer.of->lane(timer.lane)) == timer.due);
        timer.of->fired(timer);
        timer.of->call_from_inside();
    }

    static void fire_record(timing *due, tick, void *arg) {
        const auto &[of, w] = *static_cast<records_arg *>(arg);
        test_timer &timer = of->timer_of(due);
        if (of->fired(timer))
            tickwheel::core::arm_record(w, timer.record, timer.due, of->lanes_.now());
        const wheel_lock on = lock_of(w);
        unlock(on);
        of->call_from_inside();
        lock(on);
    }

    test_timer &timer_of(const timing *record) {
        for (test_timer &timer : timers_)
            if (&timer.record == record)
                return timer;
        must(!"a record of this life");
        std::abort();
    }

    // --- time ---------------------------------------------------------------------------------

    void pass(tick distance) {
        present_ += distance;
        lanes_are_level_ = false;
        int left;
        do {
            lanes_.for_each([](tw *w, unsigned) { tw_core_forget_interruption(w); });
            left = lanes_.advance(present_, below(3) == 0 ? 1 + std::uint32_t(below(20)) : TW_UNBOUNDED);
            if (left != 0 && below(4) == 0)
                call();
            if (left != 0 && below(4) == 0)
                present_ += this->distance();
        } while (left != 0);
        lanes_are_level_ = true;
        must(list_.empty() || (*list_.begin())->due > present_);
        lanes_.for_each([this](tw *w, unsigned) { must(tw_now(w) == present_); });
    }

    void check() {
        tick next = never;
        std::size_t pending = 0;
        lanes_.for_each([&](tw *w, unsigned) {
            const tick here = tw_next(w);
            next = here < next ? here : next;
            pending += tw_count(w);
        });
        must(pending == list_.size());
        must(list_.empty() ? next == never : next <= (*list_.begin())->due);
    }

    std::uint64_t seed_;
    const unsigned count_;
    tick present_;
    lanes lanes_;
    bool has_records_, is_firing_ = false, lanes_are_level_ = true;
    std::size_t chunks_;
    std::vector<void *> memory_;
    chunk_pool pools_[most_lanes]{};
    records_arg arg_of_[most_lanes]{};
    std::vector<test_timer> timers_;
    std::set<test_timer *, by_order> list_;
    std::uint64_t orders_ = 0;
};

TEST(p3_lanes_fire_as_one_sorted_list_says) {
    const std::uint64_t first = seed_of_run();
    const std::uint64_t lives = is_set("TW_SEED") ? 1 : SLOW ? 8 : 150;
    std::uint64_t fires = 0;
    for (std::uint64_t seed = first; seed != first + lives; ++seed) {
        seed_of_life = seed;
        const auto one = std::make_unique<life>(seed);
        one->live(60);
        fires += one->fires;
    }
    print_message("%llu fires\n", static_cast<unsigned long long>(fires));
    assert_true(fires > 100 * lives);
}

// --- single parts of an advance --------------------------------------------------------------

std::vector<unsigned> fired;  // the labels of the nodes

struct node_of_case : tw_node {
    unsigned number = 0;
    void (*inside)() = nullptr;
};

void note_fire(tw_node *, void *arg) {
    const auto &node = *static_cast<node_of_case *>(arg);
    fired.push_back(node.number);
    if (node.inside != nullptr)
        node.inside();
}

std::unique_ptr<lanes> two;
node_of_case a, b, c;

int fresh(void **) {
    fired.clear();
    two = std::make_unique<lanes>(0);
    two->lane(0);
    two->lane(1);
    unsigned number = 0;
    for (node_of_case *node : {&a, &b, &c}) {
        assert_int_equal(tw_node_init(node, note_fire, node), 0);
        node->number = number++;
        node->inside = nullptr;
    }
    return 0;
}

void arm(unsigned lane, node_of_case &node, tick due) {
    assert_in_range(tw_core_arm_at(two->lane(lane), &node, due, two->now()), 0, 1);
}

// Returns what the call returns, with all of the budget.
int part(unsigned lane, tick present, const tw_core_place &last, std::uint32_t budget = TW_UNBOUNDED) {
    return two->advance_part(lane, present, last, budget);
}

void assert_fired(const std::vector<unsigned> &expected) { assert_true(fired == expected); }

void assert_next(unsigned lane, tick at) { assert_int_equal(two->next[lane].tick, at); }

FIXTURE(fresh, nullptr);

TEST(a_part_ends_before_the_first_timer_that_comes_after_its_last_place) {
    arm(0, a, 5);
    const std::uint64_t between = two->now();
    arm(0, b, 5);
    arm(0, c, 6);
    assert_int_equal(part(0, 10, {5, between}), 0);
    assert_fired({0});
    assert_next(0, 5);
    assert_true(two->next[0].order > between);
    assert_int_equal(part(0, 10, {5, UINT64_MAX}), 0);
    assert_fired({0, 1});
    assert_next(0, 6);
    assert_int_equal(two->next[0].order, 0);
    assert_int_equal(part(0, 10, {TW_NEVER, 0}), 0);
    assert_fired({0, 1, 2});
    assert_next(0, TW_NEVER);
}

// The other lane may have a timer that comes before those of this one.
TEST(a_part_fires_nothing_once_another_lane_was_touched) {
    arm(0, a, 5);
    std::uint32_t budget = TW_UNBOUNDED;
    std::uint64_t touched = 2;
    tick published = 0;
    tw_core_part part_of_0 = {none, &published};
    assert_int_equal(tw_core_advance_part(two->lane(0), 10, &whole, &touched, &budget, &part_of_0), 0);
    assert_fired({});
    assert_in_range(part_of_0.next.tick, 0, 5);
    assert_int_equal(part_of_0.next.order, 0);
    assert_int_equal(published, part_of_0.next.tick);
    touched = 0;
    assert_int_equal(tw_core_advance_part(two->lane(0), 10, &whole, &touched, &budget, &part_of_0), 0);
    assert_fired({0});
    assert_int_equal(published, TW_NEVER);
}

TEST(a_lane_publishes_when_it_needs_attention_and_counts_what_stands_above_level_0) {
    tick published = 0;
    assert_int_equal(tw_core_publish_next(two->lane(0), &published), TW_NEVER);
    assert_int_equal(published, TW_NEVER);
    arm(0, a, 5);
    assert_int_equal(tw_core_placed(two->lane(0)), 0);
    assert_int_equal(tw_core_publish_next(two->lane(0), &published), 5);
    assert_int_equal(published, 5);
    arm(0, b, 5000);
    assert_int_equal(tw_core_placed(two->lane(0)), 1);
}

TEST(a_lane_is_busy_while_a_thread_holds_its_lock) {
    tw *const lane = two->lane(0);
    assert_int_equal(tw_core_is_busy(lane), 0);
    lock(lock_of(lane));
    const int is_busy = tw_core_is_busy(lane), is_other_busy = tw_core_is_busy(two->lane(1));
    unlock(lock_of(lane));
    assert_int_not_equal(is_busy, 0);
    assert_int_equal(is_other_busy, 0);
    assert_int_equal(tw_core_is_busy(lane), 0);
}

TEST(a_timer_comes_after_all_that_other_lanes_have_armed_before) {
    const std::uint64_t early = two->now();
    arm(1, a, 5);
    assert_int_equal(tw_core_arm_at(two->lane(0), &b, 5, early), 0);
    arm(0, c, 5);
    assert_int_equal(two->advance(5, TW_UNBOUNDED), 0);
    assert_fired({1, 0, 2});
}

TEST(each_call_that_arms_has_its_place_in_the_order) {
    static const auto due_at_9 = [](const tw_node *, void *) { return tick{9}; };
    static int (*const calls[])(tw *, tw_node *, std::uint64_t) = {
        [](tw *w, tw_node *node, std::uint64_t moment) { return tw_core_arm_at(w, node, 9, moment); },
        [](tw *w, tw_node *node, std::uint64_t moment) {
            return tw_core_arm_every(w, node, 9, 100, TW_BURST, 0, moment);
        },
        [](tw *w, tw_node *node, std::uint64_t moment) {
            return tw_core_arm_with_delay(w, node, 9, 4, moment);
        },
        [](tw *w, tw_node *node, std::uint64_t moment) { return tw_core_move(w, node, 9, moment); },
        [](tw *w, tw_node *node, std::uint64_t moment) {
            return tw_core_again(w, node, due_at_9, nullptr, moment);
        },
        [](tw *w, tw_node *node, std::uint64_t moment) {
            const tw_core_grid grid = {9, 0, parts, parts * 100, TW_BURST, 0, moment};
            return tw_core_arm_grid(w, node, &grid);
        },
    };
    for (const auto call : calls) {
        fresh(nullptr);
        assert_int_equal(tw_core_arm_with_delay(two->lane(1), &a, 3, 1, two->now()), 0);
        arm(0, b, 9);
        assert_in_range(call(two->lane(1), &a, two->now()), 0, 1);
        arm(0, c, 9);
        assert_int_equal(two->advance(9, TW_UNBOUNDED), 0);
        assert_fired({1, 0, 2});
    }
}

TEST(a_part_ends_after_a_fire_that_has_armed_in_another_lane) {
    arm(0, a, 5);
    arm(0, b, 7);
    a.inside = [] {
        arm(1, c, 6);
        two->touch(1, 6);
    };
    assert_int_equal(two->advance(10, TW_UNBOUNDED), 0);
    assert_fired({0, 2, 1});
}

TEST(a_lane_that_is_made_by_a_callback_fires_in_the_same_advance) {
    arm(0, a, 5);
    arm(0, b, 5);
    a.inside = [] {
        arm(2, c, 5);
        two->touch(2, 5);
    };
    assert_int_equal(two->advance(5, TW_UNBOUNDED), 0);
    assert_fired({0, 1, 2});
}

TEST(a_part_returns_1_if_its_budget_is_used_up) {
    arm(0, a, 5);
    arm(0, b, 8);
    assert_int_equal(part(0, 10, whole, 2), 1);
    assert_fired({0});
    assert_true(two->next[0].tick <= 8);
    assert_int_equal(part(0, 10, whole), 0);
    assert_fired({0, 1});
}

TEST(an_interruption_ends_a_part_before_its_next_fire) {
    arm(0, a, 5);
    arm(0, b, 5);
    a.inside = [] { tw_core_interrupt(two->lane(0)); };
    assert_int_equal(part(0, 10, whole), 1);
    assert_fired({0});
    assert_next(0, 5);
    assert_int_equal(part(0, 10, whole), 0);
    assert_fired({0, 1});
}

// The other lanes must not fire either.
TEST(an_interruption_by_the_last_callback_of_a_part_is_not_lost) {
    arm(0, a, 5);
    arm(1, b, 5);
    a.inside = [] { tw_core_interrupt(two->lane(0)); };
    assert_int_equal(two->advance(10, TW_UNBOUNDED), 1);
    assert_fired({0});
    assert_int_equal(two->advance(10, TW_UNBOUNDED), 0);
    assert_fired({0, 1});
}

TEST(a_lane_that_was_left_behind_asks_for_attention_and_goes_on) {
    arm(0, a, 5);
    arm(1, b, 9);
    assert_int_equal(part(0, 9, {5, UINT64_MAX}), 0);
    assert_fired({0});
    assert_int_equal(tw_next(two->lane(0)), TW_NEVER);
    arm(0, c, 7);  // later than its own last fire, and earlier than what others wait for
    assert_true(tw_next(two->lane(0)) <= 9);
    assert_int_equal(two->advance(9, TW_UNBOUNDED), 0);
    assert_fired({0, 2, 1});
}

// --- callbacks that do not return to their part ----------------------------------------------

std::jmp_buf left_callback;

TEST(a_part_that_a_callback_has_left_is_abandoned) {
    arm(0, a, 5);
    arm(0, b, 5);
    arm(1, c, 5);
    a.inside = [] { std::longjmp(left_callback, 1); };
    if (setjmp(left_callback) == 0)
        (void)part(0, 10, {5, UINT64_MAX});
    assert_true(tw_core_is_in_callback(two->lane(0)) != 0);
    two->for_each([](tw *w, unsigned) { tw_core_abandon(w); });
    assert_false(tw_core_is_in_callback(two->lane(0)) != 0);
    assert_int_equal(two->advance(10, TW_UNBOUNDED), 0);
    assert_fired({0, 1, 2});
}

// As a fork in the callback does it in the child.
TEST(in_a_child_a_part_calls_no_further_callback) {
    arm(0, a, 5);
    arm(0, b, 5);
    arm(1, c, 5);
    a.inside = [] {
        two->for_each([](tw *w, unsigned) { tw_core_fork(w, TW_CORE_FORK_PREPARE); });
        two->for_each([](tw *w, unsigned) { tw_core_fork(w, TW_CORE_FORK_CHILD); });
    };
    assert_int_equal(part(0, 10, {5, UINT64_MAX}), 1);
    assert_fired({0});
    two->for_each([](tw *w, unsigned) { assert_int_equal(tw_count(w), 1); });
    assert_int_equal(two->advance(10, TW_UNBOUNDED), 0);
    assert_fired({0, 1, 2});
}

// A child whose parent was between two parts on another thread.
TEST(in_a_child_lanes_that_lag_behind_advance_as_before) {
    arm(0, a, 5);
    arm(1, b, 7);
    assert_int_equal(part(0, 9, {5, UINT64_MAX}), 0);
    two->for_each([](tw *w, unsigned) { tw_core_fork(w, TW_CORE_FORK_PREPARE); });
    two->for_each([](tw *w, unsigned) { tw_core_fork(w, TW_CORE_FORK_CHILD); });
    assert_int_equal(two->advance(9, TW_UNBOUNDED), 0);
    assert_fired({0, 1});
}

}  // namespace
