// A wheel of records with memory for so many of them, and no more.
#pragma once

#include <cstdlib>
#include <new>
#include <vector>

#include "core/record_checker.hpp"
#include "support/test.h"
#include "test_access.hpp"

namespace tickwheel::core {

template <class Shape> class record_fixture {
  public:
    struct records {
        record_fixture *owner;
        timing &timing_of(std::uint32_t cell) {
            ++owner->looks;
            return owner->timings[cell];
        }
        void prefetch(std::uint32_t) {}
        tick offset() { return owner->offset; }
    };
    using wheel = record_wheel<Shape, records>;
    using access = record_test_access<wheel>;
    using result = typename wheel::step_result;

    std::vector<timing> timings;
    std::vector<bool> is_armed;
    std::vector<std::uint32_t> fired;  // in this order
    tick offset = 0;
    std::size_t looks = 0;  // at records

    explicit record_fixture(std::size_t count, tick start = 0, bool is_second = false)
        : timings(count), is_armed(count), chunks_(wheel::chunks_for(count)),
          memory_(std::calloc(1, sizeof(wheel) + alignof(wheel))) {
        pool_.add(chunks_.data(), chunks_.size());
        wheel_ = static_cast<wheel *>(memory_);
        wheel_->init({this}, pool_, start, is_second);
    }
    ~record_fixture() { std::free(memory_); }
    record_fixture(const record_fixture &) = delete;
    record_fixture &operator=(const record_fixture &) = delete;

    wheel &operator*() { return *wheel_; }
    wheel *operator->() { return wheel_; }
    access inside() { return {*wheel_}; }
    tick now() { return wheel_->now(); }

    // Arms a record, or moves it.
    void arm(std::uint32_t cell, tick due) {
        const tick less = due - offset;
        if (is_armed[cell])
            wheel_->move(cell, timings[cell], less, ++order_);
        else
            wheel_->arm(cell, timings[cell], less, ++order_);
        is_armed[cell] = true;
    }
    void disarm(std::uint32_t cell) {
        is_armed[cell] = false;
        wheel_->disarm(cell, timings[cell]);
    }

    // One step; what is due fires.
    result step() {
        const result said = wheel_->step();
        if (said != result::due)
            return said;
        const std::uint32_t cell = wheel_->take_due();
        assert_true(is_armed[cell]);                                    // once, if at all
        assert_true(timings[cell].due + offset <= wheel_->due_tick());  // not early
        is_armed[cell] = false;
        fired.push_back(cell);
        assert_true(is_within_bound());
        return said;
    }
    void advance(tick to) {
        wheel_->begin_advance(to);
        while (step() != result::done) {
        }
        wheel_->skip_if_empty();
    }

    // Returns how many invariants are broken, and names them.
    int broken() {
        const std::size_t looks_before = looks;
        const int broken = record_checker<wheel>(*wheel_, tell, nullptr).run();
        looks = looks_before;
        return broken;
    }
    bool is_within_bound() { return wheel_->entries() <= 2 * wheel_->armed() + wheel::spare; }

  private:
    static void tell(const char *broken, const tw_node *, void *) { print_message("broken: %s\n", broken); }

    chunk_pool pool_{};
    std::vector<log_chunk> chunks_;
    void *memory_;
    wheel *wheel_;
    std::uint64_t order_ = 0;
};

}  // namespace tickwheel::core
