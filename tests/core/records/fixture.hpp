// A wheel with memory for so many records, and no more, and with a few nodes.
#pragma once

#include <cstdlib>
#include <vector>

#include "core/api.hpp"
#include "core/door_api.hpp"
#include "core/record_api.hpp"
#include "support/test.h"

namespace tickwheel::core {
namespace {

// Access to the state of the pieces, for tests that break it.
struct test_access {
    static log_chunk *&at(sweep &of) { return of.at_; }
    static log_chunk *&before(sweep &of) { return of.before_; }
    static log *&swept(sweep &of) { return of.in_; }
    static std::uint64_t &base(order_queue &of) { return of.base_; }
    static std::uint64_t &least(order_queue &of, unsigned log) { return of.least_[log]; }
    static std::uint16_t &busy(order_queue &of, unsigned level) { return of.busy_[level]; }
    static std::uint32_t &busy_levels(order_queue &of) { return of.busy_levels_; }
    static unsigned &open(order_queue &of) { return of.open_; }
    static bool &are_far_apart(order_queue &of) { return of.are_far_apart_; }
};

// In `fired`, a record has the number of its cell, and node i has node_at(i).
constexpr std::uint32_t first_node = 1u << 20;
constexpr std::uint32_t node_at(std::uint32_t i) { return first_node + i; }

template <class Shape> class record_fixture {
  public:
    using wheel = core::wheel<slot_engine<Shape>>;
    using all_logs = record_logs<Shape>;
    using wheel_api = api<wheel>;
    using door = record_api<wheel>;

    std::vector<timing> timings;
    std::vector<tw_node> nodes;
    std::vector<std::uint32_t> fired;  // in the order of their fires

    explicit record_fixture(std::size_t records, tick start = 0, std::size_t with_nodes = 0,
                            bool is_second = false)
        : timings(records), nodes(with_nodes), chunks_(all_logs::chunks_for(records, 1)),
          logs_(std::calloc(1, door::size())) {
        for (tw_node &node : nodes)
            assert_int_equal(init(&node, ignore, nullptr), 0);
        pool_.add(chunks_.data(), chunks_.size());
        assert_int_equal(wheel_api::init(&w_, start, TW_UNLOCKED), 0);
        door::begin(&w_, logs_, pool_, 0, is_second, take_fire, this);
    }
    ~record_fixture() { std::free(logs_); }
    record_fixture(const record_fixture &) = delete;
    record_fixture &operator=(const record_fixture &) = delete;

    tw *w() { return &w_; }
    wheel &operator*() { return wheel_in<wheel>(&w_); }
    wheel *operator->() { return &**this; }
    placement<Shape> &inside() { return **this; }
    all_logs &logs() { return (*this)->logs(); }
    sweep &sweeping() { return logs().sweeping; }
    order_queue &queue() { return logs().queue; }
    tick now() { return inside().now; }

    std::size_t entries() { return logs().entries; }
    std::size_t armed() { return logs().armed; }
    bool is_armed(std::uint32_t cell) { return core::is_armed(timings[cell]); }

    // Late entries stand at the cursor, though none of their records may be due.
    bool has_late_entries_here() {
        return inside().open_level == 0 && logs().has_late(inside().cursor_slot());
    }

    // --- records and nodes: armed, or moved ------------------------------------------------

    void arm(std::uint32_t cell, tick due) {
        const tick less = due - logs().offset;
        if (is_armed(cell))
            door::move(&w_, timings[cell], less);
        else
            door::arm(&w_, timings[cell], less);
    }
    void disarm(std::uint32_t cell) { door::disarm(&w_, timings[cell]); }

    void arm_node(std::uint32_t i, tick due) {
        set_wheel(nodes[i], state_in(&w_));
        (*this)->arm_once(nodes[i], due);
    }
    void cancel_node(std::uint32_t i) { assert_int_equal((*this)->disarm(nodes[i]), 1); }
    bool is_node_pending(std::uint32_t i) { return is_pending(nodes[i]); }

    void shift(tick by) { door_api<wheel>::shift(&w_, by); }

    // --- going on ----------------------------------------------------------------------------

    void begin_advance(tick to) { (*this)->begin_advance(to); }

    // Takes one step. If a timer is due, it fires.
    next_step step() {
        const next_step said = (*this)->look();
        if (said == next_step::fire_record) {
            take_fire(&(*this)->take_due_record(), (*this)->now, this);
            inside().fires_record = false;
        } else if (said == next_step::fire) {
            tw_node &node = (*this)->take_due();
            assert_true(node.expiry <= inside().cursor);  // not early
            inside().running = nullptr;
            fired.push_back(node_at(static_cast<std::uint32_t>(&node - nodes.data())));
        } else if (said == next_step::move) {
            assert_int_equal((*this)->move_some(1), 1);
        }
        return said;
    }
    void advance(tick to) {
        begin_advance(to);
        while (step() != next_step::none) {
        }
    }

    // Looks ahead by at most `most` steps, and no further than `lead` ticks. Returns the number of steps.
    std::uint32_t look_ahead(tick lead, std::uint32_t most) {
        inside().lead = Shape::low(lead);
        return (*this)->look_ahead(most);
    }

    // --- looking -------------------------------------------------------------------------------

    // Prints the broken invariants and returns their number.
    int broken() { return wheel_api::check(&w_, tell, nullptr); }

    bool is_within_bound() { return entries() <= 2 * armed() + all_logs::spare; }

    // The number of entries that the current sweep has yet to look at.
    std::size_t ahead_of_sweep() {
        const sweep &at = sweeping();
        std::size_t ahead = at.is_in_log() ? entries_from(at.at()) : 0;
        for (unsigned i = at.next(); i != all_logs::all_logs; ++i)
            ahead += entries_from(logs().log_at(i).head);
        return ahead;
    }

  private:
    static void ignore(tw_node *, void *) {}
    static void tell(const char *broken, const tw_node *, void *) { print_message("broken: %s\n", broken); }

    static std::size_t entries_from(const log_chunk *chunk) {
        std::size_t count = 0;
        for (; chunk != nullptr; chunk = chunk->next)
            count += chunk->count();
        return count;
    }

    // The record_caller. The wheel has already taken the record off.
    static void take_fire(timing *due, tick, void *arg) {
        auto &self = *static_cast<record_fixture *>(arg);
        assert_false(core::is_armed(*due));
        assert_true(self.logs().due_of(*due) <= self.inside().cursor);  // not early
        assert_true(self.is_within_bound());
        self.fired.push_back(static_cast<std::uint32_t>(due - self.timings.data()));
    }

    tw w_ = {};
    chunk_pool pool_{};
    std::vector<log_chunk> chunks_;
    void *logs_;
};

}  // namespace
}  // namespace tickwheel::core
