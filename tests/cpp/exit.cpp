// std::exit in a callback, in a program whose runtime is static: it ends, with that status.
#include <unistd.h>

#include <cstdlib>

#include "support.hpp"

namespace {

using testing::ExitedWithCode;

// What a process of its own ends with.
template <class What> void run_and_wait(What what) {
    what();
    for (;;)
        pause();
}

TEST(ExitInACallback, OnTheRuntimesThreadEndsTheProgram) {
    EXPECT_EXIT(run_and_wait([] {
                    static tickwheel::runtime rt;
                    static tickwheel::timer other = rt.every(1ms, [] {});
                    rt.spawn(1ms, [] { std::exit(7); });
                }),
                ExitedWithCode(7), "");
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

TEST(ExitInACallback, OnTheRuntimesThreadEndsAProgramWithWorkers) {
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
// What a callback must not do: it returns, and its runtime is gone.
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
