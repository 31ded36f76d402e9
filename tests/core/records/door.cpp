// The functions of core/records.hpp, which src/timers uses, on the library's own wheels. ../model tests them
// on other shapes.
#include <csetjmp>
#include <cstdlib>
#include <memory>

#include <tickwheel/port.h>

#include "core/door.h"
#include "core/engine.hpp"
#include "core/records.hpp"
#include "support/test.h"

namespace {

using namespace tickwheel::core;

struct counted {
    tw *wheel = nullptr;
    timing *last = nullptr;
    unsigned fires = 0, abandoned = 0;
    bool was_in_callback = false;
    tick present = 0;
    std::jmp_buf *leaves = nullptr;  // if set, the callback leaves by a longjmp, with no lock held

    static void fire(timing *due, tick present, void *self) {
        counted &of = *static_cast<counted *>(self);
        of.was_in_callback = tw_core_is_in_callback(of.wheel) != 0;
        of.last = due;
        of.present = present;
        due != nullptr ? ++of.fires : ++of.abandoned;
        if (due != nullptr && of.leaves != nullptr) {
            tw_port_unlock(lock_of(of.wheel).word);
            std::longjmp(*of.leaves, 1);
        }
    }
};

// Two wheels that share one lock, and one memory of records.
class wheels {
  public:
    static constexpr std::size_t records = 8;
    static constexpr tick offset = 50;  // of the wheels, ahead of their records

    counted fired[2];

    wheels() : chunks_(chunks_for(records, 2)), pool_{} {
        chunk_memory_ = std::calloc(chunks_, sizeof(log_chunk));
        pool_.add(chunk_memory_, chunks_);
        for (unsigned i = 0; i < 2; ++i) {
            wheels_[i] = std::make_unique<tw>();
            logs_[i] = std::calloc(1, size_of_records());
            assert_int_equal(tw_init(of(i), 100, 0), 0);
            if (i == 1)
                tw_core_share_lock(of(1), of(0));
            fired[i].wheel = of(i);
            begin_records(of(i), logs_[i], pool_, offset, i == 1, counted::fire, &fired[i]);
        }
    }
    ~wheels() {
        std::free(chunk_memory_);
        std::free(logs_[0]);
        std::free(logs_[1]);
    }
    wheels(const wheels &) = delete;
    wheels &operator=(const wheels &) = delete;

    tw *of(unsigned i) { return wheels_[i].get(); }

    template <class Call> void locked(unsigned i, Call call) {
        const wheel_lock lock = lock_of(of(i));
        assert_false(lock.is_observed);
        tw_port_lock(lock.word);
        call(of(i));
        tw_port_unlock(lock.word);
    }

  private:
    std::size_t chunks_;
    void *chunk_memory_;
    chunk_pool pool_;
    std::unique_ptr<tw> wheels_[2];
    void *logs_[2];
};

TEST(records_of_the_library_are_armed_moved_and_disarmed) {
    wheels test;
    timing a = {}, b = {}, c = {};
    for (const unsigned i : {0u, 1u}) {
        test.locked(i, [&](tw *w) {
            arm_record(w, a, 53, 0);
            arm_record(w, b, 53, 0);
            arm_record(w, c, 53, 0);
            move_record(w, b, 54, 0);
            disarm_record(w, c);
            assert_int_equal(choose_tick(w, 101, 108), 103);
            assert_int_equal(choose_tick(w, 90, 99), 99);
            assert_int_equal(choose_tick(w, 101, 101), 101);
            assert_true(is_armed(a) && is_armed(b) && !is_armed(c));
        });
        assert_int_equal(tw_count(test.of(i)), 2);
        assert_int_equal(tw_advance(test.of(i), 103, TW_UNBOUNDED), 0);
        assert_ptr_equal(test.fired[i].last, &a);
        assert_int_equal(test.fired[i].present, 53);
        assert_true(test.fired[i].was_in_callback);
        assert_false(tw_core_is_in_callback(test.of(i)) != 0);
        assert_int_equal(tw_advance(test.of(i), 110, TW_UNBOUNDED), 0);
        assert_ptr_equal(test.fired[i].last, &b);
        assert_int_equal(test.fired[i].present, 60);
        assert_int_equal(tw_check(test.of(i), nullptr, nullptr), 0);
    }
}

TEST(records_of_the_library_fire_in_one_order_with_its_nodes) {
    wheels test;
    tw_node node;
    timing before = {}, after = {};
    static counted *fired;
    fired = &test.fired[0];
    assert_int_equal(tw_node_init(
                         &node, [](tw_node *, void *) { assert_int_equal(fired->fires, 1); }, nullptr),
                     0);
    test.locked(0, [&](tw *w) { arm_record(w, before, 4950, 0); });
    assert_int_equal(tw_arm_at(test.of(0), &node, 5000), 0);
    test.locked(0, [&](tw *w) { arm_record(w, after, 4950, 0); });
    assert_int_equal(tw_advance(test.of(0), 5000, TW_UNBOUNDED), 0);
    assert_int_equal(test.fired[0].fires, 2);
    assert_ptr_equal(test.fired[0].last, &after);
}

TEST(records_of_the_library_are_told_of_an_interruption_that_was_forgotten) {
    wheels test;
    timing record = {};
    test.locked(0, [&](tw *w) { arm_record(w, record, 51, 0); });
    tw_core_interrupt(test.of(0));
    tw_core_forget_interruption(test.of(0));
    tw_core_forget_interruption(test.of(0));
    assert_int_equal(tw_advance(test.of(0), 101, TW_UNBOUNDED), 0);
    test.locked(0, [&](tw *w) { arm_record(w, record, 51, 0); });
    tw_core_interrupt(test.of(0));
    assert_int_equal(tw_advance(test.of(0), 101, TW_UNBOUNDED), 1);
    assert_int_equal(test.fired[0].fires, 1);
}

TEST(records_of_the_library_count_what_calls_have_prevented) {
    wheels test;
    test.locked(0, [](tw *w) { count_cancelled(w, 3, 2); });
    assert_int_equal(tw_core_cancelled(test.of(0), 3), 2);
    assert_int_equal(tw_core_cancelled(test.of(0), 2), 0);
}

// Another thread finds the wheel in this state while tw_core_shift has released the lock.
TEST(records_of_the_library_are_shifted_before_anything_else_happens) {
    wheels test;
    timing record = {};
    test.locked(0, [&](tw *w) { arm_record(w, record, 60, 0); });
    wheel_in<library_wheel>(test.of(0)).begin_shift(7);
    assert_int_equal(tw_next(test.of(0)), 100);
    assert_int_equal(tw_advance(test.of(0), 116, TW_UNBOUNDED), 0);
    assert_int_equal(test.fired[0].fires, 0);
    assert_int_equal(tw_advance(test.of(0), 117, TW_UNBOUNDED), 0);
    assert_int_equal(test.fired[0].fires, 1);
}

// An exception or a longjmp has left the callback.
TEST(records_of_the_library_are_told_of_a_fire_that_was_abandoned) {
    wheels test;
    timing record = {};
    static std::jmp_buf left;
    test.fired[0].leaves = &left;
    test.locked(0, [&](tw *w) { arm_record(w, record, 51, 0); });
    if (setjmp(left) == 0)
        (void)tw_advance(test.of(0), 101, TW_UNBOUNDED);
    assert_true(tw_core_is_in_callback(test.of(0)) != 0);
    tw_core_abandon(test.of(0));
    assert_int_equal(test.fired[0].abandoned, 1);
    assert_false(tw_core_is_in_callback(test.of(0)) != 0);
    tw_core_abandon(test.of(0));
    assert_int_equal(test.fired[0].abandoned, 1);
}

TEST(the_lock_of_a_wheel_is_taken_and_released_whether_or_not_it_is_observed) {
    for (const bool is_observed : {false, true}) {
        std::uint32_t word = 0;
        lock(wheel_lock{&word, is_observed});
        assert_int_not_equal(word, 0);
        unlock(wheel_lock{&word, is_observed});
        assert_int_equal(word, 0);
    }
}

TEST(wheels_with_one_lock_are_forked_under_it) {
    wheels test;
    const wheel_lock lock = lock_of(test.of(0));
    assert_ptr_equal(lock.word, lock_of(test.of(1)).word);
    for (const tw_core_fork_moment after : {TW_CORE_FORK_PARENT, TW_CORE_FORK_CHILD}) {
        for (const unsigned i : {0u, 1u})
            tw_core_fork(test.of(i), TW_CORE_FORK_PREPARE);
        for (const unsigned i : {0u, 1u})
            tw_core_fork(test.of(i), after);
        test.locked(1, [](tw *w) { assert_false(tw_core_is_in_callback(w) != 0); });
    }
}

}  // namespace
