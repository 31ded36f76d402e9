// src/core/order_queue.hpp: late entries come out in the order of arming, each move is bounded, and sweeps
// may go on meanwhile.
#include "core/order_queue.hpp"

#include <algorithm>
#include <vector>

#include "core/sweep.hpp"
#include "support/random.h"
#include "support/test.h"

namespace {

using namespace tickwheel::core;

constexpr std::uint64_t far_apart = std::uint64_t{1} << 32;

std::uint64_t seed = 1;

class fixture {
  public:
    order_queue queue = {};
    std::vector<timing> records;
    std::vector<std::uint64_t> taken;  // the orders of arming of the entries that came out
    std::size_t most_moves = 0;        // of any one entry
    chunk_pool *chunks = &pool_;
    std::size_t entries = 0;

    explicit fixture(const std::vector<std::uint64_t> &orders)
        : records(orders.size()), moves_(orders.size()), chunks_(2 * orders.size() + order_queue::logs) {
        pool_.add(chunks_.data(), chunks_.size());
        for (std::size_t i = 0; i < orders.size(); ++i) {
            records[i].order = orders[i];
            records[i].stamp = stamps::armed;
            queue.add(pool_, {&records[i], 0, stamps::armed | stamps::late});
            ++entries;
        }
    }
    fixture(const fixture &) = delete;
    fixture &operator=(const fixture &) = delete;

    // Takes off the earliest entry if the queue knows it; otherwise moves one entry.
    void step() {
        if (queue.is_first_known()) {
            log &first = queue.first();
            if (first.front().is_current())
                taken.push_back(first.front().record->order);
            --entries;
            pop(first);
            return;
        }
        log &from = queue.to_move();
        const entry e = from.front();
        pop_to_move(from);
        std::size_t &moves = moves_[static_cast<std::size_t>(e.record - records.data())];
        most_moves = larger(most_moves, ++moves);
        const bool may_be_first = queue.put(pool_, e);
        assert_true(!may_be_first || !queue.first().is_empty());
        queue.forget_if_empty(from);
    }
    void empty() {
        while (!queue.is_empty())
            step();
    }

    void make_stale(std::size_t i) { records[i].stamp = 0; }

    // Sweeps one more chunk. Returns false when the sweep has ended.
    bool sweep_some() {
        if (!at_.is_in_log()) {
            unsigned i = at_.next();
            while (i != order_queue::logs && queue.at(i).is_empty())
                ++i;
            if (i == order_queue::logs) {
                at_.end();
                return false;
            }
            at_.begin(i, queue.at(i));
        }
        log &in = queue.at(at_.number());
        at_.go_on(*this);
        queue.forget_if_empty(in);
        return true;
    }

  private:
    void pop_to_move(log &from) {
        const log_chunk *const emptied = from.pop(pool_);
        if (emptied != nullptr)
            at_.note_emptied(*emptied, from);
    }
    void pop(log &from) {
        pop_to_move(from);
        queue.forget_if_empty(from);
    }

    std::vector<std::size_t> moves_;
    std::vector<log_chunk> chunks_;
    chunk_pool pool_{};
    sweep at_ = {};
};

void assert_in_order(const std::vector<std::uint64_t> &orders, std::size_t most_moves) {
    fixture test(orders);
    test.empty();
    std::vector<std::uint64_t> sorted = orders;
    std::sort(sorted.begin(), sorted.end());
    assert_true(test.taken == sorted);
    assert_true(test.most_moves <= most_moves);
    assert_int_equal(test.entries, 0);
}

// `count` random orders from `first` on, less than `range` apart.
std::vector<std::uint64_t> random_orders(std::size_t count, std::uint64_t first, std::uint64_t range) {
    std::vector<std::uint64_t> orders(count);
    for (std::uint64_t &order : orders)
        order = first + random_below(&seed, range);
    return orders;
}

constexpr std::size_t digits_of_entry = 32 / order_queue::bits;

TEST(order_queue_is_empty_at_first) {
    fixture test({});
    assert_true(test.queue.is_empty());
    assert_false(test.queue.is_first_known());
}

TEST(order_queue_sorts_orders_however_many_there_are) {
    for (const std::size_t count : {1u, 2u, 15u, 16u, 17u, 300u, 5000u})
        for (const std::uint64_t first : {std::uint64_t{1}, far_apart - 1000, far_apart * 77})
            for (const std::uint64_t range :
                 {std::uint64_t{1}, std::uint64_t{17}, std::uint64_t{4096}, far_apart})
                assert_in_order(random_orders(count, first, range), 1 + digits_of_entry);
}

TEST(order_queue_moves_orders_that_are_close_to_each_other_once_or_twice) {
    std::vector<std::uint64_t> orders = random_orders(1, far_apart - 3, 1);
    for (std::uint64_t i = 1; i < order_queue::width; ++i)
        orders.push_back(orders[0] + i);
    assert_in_order(orders, 1);
    std::reverse(orders.begin(), orders.end());
    assert_in_order(orders, 1);
    for (std::uint64_t i = 0; i < order_queue::width * (order_queue::width - 1); ++i)
        orders.push_back(orders[0] + 1 + i);
    assert_in_order(orders, 2);
}

// Entries have the lowest 32 bits of an order; for orders further apart the queue reads the records.
TEST(order_queue_sorts_orders_that_are_far_apart) {
    for (const std::uint64_t apart : {far_apart - 1, far_apart, far_apart + 1, far_apart << 20}) {
        assert_in_order({5, 5 + apart}, 1 + order_queue::levels);
        assert_in_order({5 + apart, 5}, 1 + order_queue::levels);
    }
    assert_in_order({UINT64_MAX, 0, far_apart, UINT64_MAX - 1, far_apart - 1, 1}, 1 + order_queue::levels);
    for (const unsigned bits : {33u, 40u, 63u})
        for (const std::size_t count : {3u, 20u, 3000u})
            assert_in_order(random_orders(count, 9, std::uint64_t{1} << bits), 1 + order_queue::levels);
}

// The orders differ in one digit only.
TEST(order_queue_sorts_by_each_digit) {
    for (unsigned digit = 0; digit < order_queue::levels; ++digit)
        for (const std::uint64_t others : {UINT64_C(0), UINT64_C(0x1234567812345678)}) {
            std::vector<std::uint64_t> orders;
            const unsigned shift = digit * order_queue::bits;
            for (std::uint64_t i = 0; i < order_queue::width; ++i)
                orders.push_back((others & ~(UINT64_C(0xf) << shift)) | (i * 7 % order_queue::width)
                                                                            << shift);
            assert_in_order(orders, 1 + order_queue::levels);
        }
}

// A record of which there are two entries, one of them stale after all stamps were used.
TEST(order_queue_takes_equal_orders_one_after_the_other) {
    assert_in_order({7, 7, 7, 3, 7, 3}, 1 + digits_of_entry);
}

TEST(order_queue_may_be_used_again) {
    fixture test(random_orders(40, 1000, 900));
    test.empty();
    assert_true(test.queue.is_empty());
    test.taken.clear();
    for (std::size_t i = 0; i < 40; ++i) {
        test.records[i].order = far_apart * (40 - i);
        test.queue.add(*test.chunks, {&test.records[i], 0, stamps::armed | stamps::late});
        ++test.entries;
    }
    test.empty();
    assert_int_equal(test.taken.size(), 40);
    assert_true(std::is_sorted(test.taken.begin(), test.taken.end()));
}

// However far the sweep has come, no entry is lost unless it is stale, and no stale entry is left after the
// sweep.
TEST(order_queue_goes_on_while_a_sweep_does) {
    for (const std::uint64_t range : {std::uint64_t{2000}, far_apart * 64})
        for (const std::size_t steps : {0u, 1u, 500u, 1200u, 3000u})
            for (const std::size_t between : {0u, 1u, 7u, 30u})
                for (const unsigned one_in : {1u, 2u, 16u}) {
                    fixture test(random_orders(1200, 3, range));
                    for (std::size_t i = 0; i < steps && !test.queue.is_empty(); ++i)
                        test.step();
                    std::vector<std::uint64_t> left;
                    for (std::size_t i = 0; i < test.records.size(); ++i) {
                        if (random_below(&seed, one_in) == 0)
                            test.make_stale(i);
                        else
                            left.push_back(test.records[i].order);
                    }
                    const std::vector<std::uint64_t> before = test.taken;
                    while (test.sweep_some())
                        for (std::size_t i = 0; i < between && !test.queue.is_empty(); ++i)
                            test.step();
                    if (between == 0 && one_in == 1)
                        assert_true(test.queue.is_empty());
                    test.empty();
                    assert_int_equal(test.entries, 0);
                    assert_true(std::is_sorted(test.taken.begin(), test.taken.end()));
                    std::sort(left.begin(), left.end());
                    assert_true(
                        std::includes(test.taken.begin(), test.taken.end(), left.begin(), left.end()));
                }
}

TEST(order_queue_can_be_emptied_into_a_log) {
    for (const std::size_t steps : {0u, 3u, 10u, 40u, 70u, 100u}) {
        fixture test(random_orders(60, 8, 3000));
        for (std::size_t i = 0; i < steps && !test.queue.is_empty(); ++i)
            test.step();
        log all = {};
        test.queue.empty_into(all);
        assert_true(test.queue.is_empty());
        assert_false(test.queue.is_first_known());
        std::size_t count = 0;
        for (; !all.is_empty(); ++count)
            all.pop(*test.chunks);
        assert_int_equal(count + test.taken.size(), 60);
        assert_int_equal(count, test.entries);
    }
}

}  // namespace
