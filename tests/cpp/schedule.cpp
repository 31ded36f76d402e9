// Timers with a custom schedule.
#include <array>
#include <optional>
#include <stdexcept>
#include <vector>

#include "support.hpp"

namespace {

using tickwheel::timer;
using tickwheel::virtual_runtime;
using time_point = virtual_runtime::time_point;
using moment = std::optional<time_point>;

class Schedule : public testing::Test {
  protected:
    std::vector<std::exception_ptr> thrown;
    virtual_runtime rt{{.on_exception = [this](std::exception_ptr e) { thrown.push_back(e); }}};
    std::vector<std::chrono::nanoseconds> at;

    auto noting() {
        return [this] { at.push_back(rt.now().time_since_epoch()); };
    }
    using times = std::vector<std::chrono::nanoseconds>;
};

TEST_F(Schedule, AsksForEachDeadline) {
    rt.advance(1s);
    const timer t = rt.schedule(
        [gap = 1s](time_point due) mutable { return due + std::exchange(gap, gap * 2); }, noting());
    rt.advance(20s);
    EXPECT_EQ(at, (times{2s, 4s, 8s, 16s}));
    EXPECT_TRUE(t.pending());
}

TEST_F(Schedule, EndsWhenThereIsNoFurtherDeadline) {
    int gone = 0;
    const timer t = rt.schedule(
        [left = 2, end = farewell(gone)](time_point due) mutable -> moment {
            if (left-- == 0)
                return std::nullopt;
            return due + 3s;
        },
        noting());
    rt.advance(1h);
    EXPECT_EQ(at, (times{3s, 6s}));
    EXPECT_FALSE(t.pending());
    EXPECT_EQ(gone, 1);
}

TEST_F(Schedule, WithoutAFirstDeadlineIsNoTimer) {
    const timer t = rt.schedule([](time_point) { return moment(); }, noting());
    EXPECT_FALSE(t.pending());
    EXPECT_EQ(rt.count(), 0U);
}

TEST_F(Schedule, ADeadlineThatHasPassedIsDueAtOnce) {
    const timer t = rt.schedule(
        [n = 0](time_point due) mutable -> moment { return n++ < 3 ? moment(due - 1s) : std::nullopt; },
        noting());
    rt.advance(0s);
    EXPECT_EQ(at, (times{0s, 0s, 0s}));
}

TEST_F(Schedule, CountsFromWhatWasDueAndDoesNotDrift) {
    std::vector<std::chrono::nanoseconds> due;
    const timer t =
        rt.schedule([](time_point from) { return from + 2s; },
                    [&](const virtual_runtime::event &e) { due.push_back(e.due.time_since_epoch()); });
    rt.leap(3s);
    rt.leap(4s);
    EXPECT_EQ(due, (times{2s, 4s, 6s}));
}

TEST_F(Schedule, ThatThrowsAtFirstThrowsToTheCaller) {
    EXPECT_THROW(static_cast<void>(
                     rt.schedule([](time_point) -> moment { throw std::runtime_error("no"); }, noting())),
                 std::runtime_error);
    EXPECT_EQ(rt.count(), 0U);
    EXPECT_TRUE(thrown.empty());
}

TEST_F(Schedule, ThatThrowsLaterIsHeardOfAndEnds) {
    const timer t = rt.schedule(
        [n = 0](time_point due) mutable {
            if (++n == 3)
                throw std::runtime_error("no more");
            return due + 1s;
        },
        noting());
    rt.advance(1h);
    EXPECT_EQ(at, (times{1s, 2s}));
    EXPECT_EQ(thrown.size(), 1U);
    EXPECT_FALSE(t.pending());
}

TEST_F(Schedule, ACallbackThatThrowsDoesNotEndIt) {
    const timer t = rt.schedule([](time_point due) { return due + 1s; }, [] { throw 1; });
    rt.advance(3s);
    EXPECT_EQ(thrown.size(), 3U);
    EXPECT_TRUE(t.pending());
}

TEST_F(Schedule, KeepsWhatDoesNotFitInline) {
    std::array<int, 100> gaps;
    gaps.fill(2);
    const timer t = rt.schedule([gaps, i = 0U](time_point due) mutable { return due + gaps[i++] * 1s; },
                                [this, gaps] { at.push_back(gaps[0] * rt.now().time_since_epoch()); });
    rt.advance(5s);
    EXPECT_EQ(at, (times{4s, 8s}));
}

TEST_F(Schedule, IsCancelledLikeAnyTimer) {
    {
        const timer t = rt.schedule([](time_point due) { return due + 1s; }, noting());
        rt.advance(2s);
    }
    rt.advance(2s);
    EXPECT_EQ(at.size(), 2U);
    EXPECT_EQ(rt.count(), 0U);
}

}  // namespace
