// Exceptions end at the boundary to C: they are reported, and the timer goes on.
#include <stdexcept>
#include <string>
#include <vector>

#include "support.hpp"

namespace {

using tickwheel::virtual_runtime;

class Exceptions : public testing::Test {
  protected:
    std::vector<std::string> heard;
    virtual_runtime rt{{.on_exception = [this](std::exception_ptr thrown) { hear(thrown); }}};

    void hear(const std::exception_ptr &thrown) {
        try {
            std::rethrow_exception(thrown);
        } catch (const std::exception &e) {
            heard.emplace_back(e.what());
        } catch (...) {
            heard.emplace_back("something else");
        }
    }
    using words = std::vector<std::string>;
};

TEST_F(Exceptions, OfATimerAreHeardAndItGoesOn) {
    const auto t = rt.every(1s, [] { throw std::runtime_error("tick"); });
    rt.advance(3s);
    EXPECT_EQ(heard, (words{"tick", "tick", "tick"}));
    EXPECT_TRUE(t.pending());
}

TEST_F(Exceptions, OfNoStandardKindAreHeardToo) {
    rt.spawn(1s, [] { throw 42; });
    rt.advance(1s);
    EXPECT_EQ(heard, words{"something else"});
}

TEST_F(Exceptions, DoNotKeepNeighboursFromFiring) {
    int fired = 0;
    rt.spawn(1s, [] { throw std::runtime_error("first"); });
    rt.spawn(1s, [&] { ++fired; });
    rt.advance(1s);
    EXPECT_EQ(fired, 1);
    EXPECT_EQ(heard.size(), 1U);
}

TEST_F(Exceptions, OfAPinnedTimerAreHeardAndItGoesOn) {
    tickwheel::pinned_timer t(rt, [] { throw std::runtime_error("pinned"); });
    t.every(1s);
    rt.advance(2s);
    EXPECT_EQ(heard, (words{"pinned", "pinned"}));
}

TEST_F(Exceptions, OfALargeCallableAreHeard) {
    rt.spawn(1s, [text = std::string("large"), room = std::string(), more = std::string()] {
        throw std::runtime_error(text);
    });
    rt.advance(1s);
    EXPECT_EQ(heard, words{"large"});
}

// A coroutine that throws to its resumer.
struct careless {
    struct promise_type {
        careless get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() { throw; }
    };
    std::coroutine_handle<promise_type> handle;
};

// The caller holds the sleep. Held in the frame, it would be destroyed twice by clang: when the
// coroutine throws, and once more with the frame (LLVM's issue 61900).
careless sleep_and_throw(tickwheel::sleeper<tw_node> &nap) {
    co_await nap;
    throw std::runtime_error("awake");
}

TEST_F(Exceptions, OfACoroutineAreHeard) {
    auto nap = rt.sleep_for(1s);
    const careless thrower = sleep_and_throw(nap);
    rt.advance(1s);
    EXPECT_EQ(heard, words{"awake"});
    thrower.handle.destroy();
}

TEST(ExceptionsWithoutHandler, ArePrinted) {
    virtual_runtime rt;
    rt.spawn(1s, [] { throw std::runtime_error("no disk"); });
    rt.spawn(1s, [] { throw 42; });
    testing::internal::CaptureStderr();
    rt.advance(1s);
    const std::string printed = testing::internal::GetCapturedStderr();
    EXPECT_EQ(printed, "tickwheel: a callback has thrown: no disk\n"
                       "tickwheel: a callback has thrown something unknown\n");
}

}  // namespace
