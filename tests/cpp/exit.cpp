// std::exit in a callback of a program whose runtime is static ends the program with that status.
#include <unistd.h>

#include <cstdlib>

#include "support.hpp"

namespace {

using testing::ExitedWithCode;

// The body of a child process.
template <class What> void run_and_wait(What what) {
    what();
    for (;;)
        pause();
}

TEST(ExitInACallback, OfAPinnedTimerEndsTheProgram) {
    EXPECT_EXIT(run_and_wait([] {
                    static tickwheel::runtime rt;
                    static tickwheel::pinned_timer timer(rt, [] { std::exit(7); });
                    timer.after(1ms);
                }),
                ExitedWithCode(7), "");
}

TEST(ExitInACallback, OnAWorkerEndsTheProgram) {
    EXPECT_EXIT(run_and_wait([] {
                    static tickwheel::runtime rt;
                    static tickwheel::workers pool(rt);
                    pool.spawn(1ms, [] { std::exit(7); });
                }),
                ExitedWithCode(7), "");
}

TEST(ExitInACallback, OnTheRuntimesThreadEndsTheProgram) {
    EXPECT_EXIT(run_and_wait([] {
                    static tickwheel::runtime rt;
                    static tickwheel::workers pool(rt);
                    static tickwheel::timer other = pool.every(1ms, [] {});
                    rt.spawn(1ms, [] { std::exit(7); });
                }),
                ExitedWithCode(7), "");
}

TEST(ExitInACallback, InVirtualTimeEndsTheProgram) {
    EXPECT_EXIT(run_and_wait([] {
                    static tickwheel::virtual_runtime rt;
                    rt.spawn(1h, [] { std::exit(7); });
                    rt.advance(1h);
                }),
                ExitedWithCode(7), "");
}

#ifndef NDEBUG
// Forbidden: the callback would return to a runtime that no longer exists.
TEST(ACallbackThatDestroysItsOwnRuntime, IsStopped) {
    EXPECT_DEATH(
        {
            auto *rt = new tickwheel::virtual_runtime;
            rt->spawn(1h, [rt] { delete rt; });
            rt->advance(1h);
        },
        "destroyed its own runtime");
}
#endif

}  // namespace
