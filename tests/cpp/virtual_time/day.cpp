// The connection's test: days pass on virtual time, in milliseconds of real time.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "../tasks.hpp"
#include "connection.hpp"

namespace {

using namespace std::chrono_literals;
using tickwheel::runtime;
using state = connection::state;

constexpr connection_options usual{.ping = 10s, .quiet = 30s, .lease = 24h};

class Day : public testing::Test {
  protected:
    tickwheel::virtual_runtime rt;
    const runtime::time_point begin = rt.now();
};

TEST_F(Day, OfTalkEndsWithTheLeaseToTheMillisecond) {
    connection peer(rt, usual);
    for (int i = 0; i < 24 * 60 * 3; ++i) {
        EXPECT_EQ(peer.now_in(), state::open);
        peer.on_packet();
        rt.advance(20s);
    }
    EXPECT_EQ(peer.now_in(), state::expired);
    EXPECT_EQ(peer.ended() - begin, 24h);
    EXPECT_EQ(peer.pings(), 24 * 60 * 6 - 1);  // at the last one's tick the end of the lease comes first
}

TEST_F(Day, WithoutAPacketEndsAfterThirtySeconds) {
    connection peer(rt, usual);
    rt.advance(29'999ms);
    EXPECT_EQ(peer.now_in(), state::open);
    rt.advance(1ms);
    EXPECT_EQ(peer.now_in(), state::silent);
    rt.advance(24h);
    EXPECT_EQ(peer.ended() - begin, 30s);
    EXPECT_EQ(peer.pings(), 2);  // as above
}

TEST_F(Day, MayBeginAtAnyReading) {
    rt.advance(100 * 24h + 1ns);
    connection peer(rt, usual);
    rt.advance(24h);
    EXPECT_EQ(peer.ended() - begin, 100 * 24h + 30s + 1ms);  // rounded up to a tick
}

TEST(VirtualTime, BeginsAtNothingAndStandsStill) {
    tickwheel::virtual_runtime rt;
    EXPECT_EQ(rt.now(), runtime::time_point());
    rt.advance(100ms);
    runtime &same = rt;
    EXPECT_EQ(same.now(), runtime::time_point(100ms));
}

TEST(VirtualTime, MayBeOwnedAsARuntime) {
    int fired = 0;
    auto on = std::make_unique<tickwheel::virtual_runtime>();
    auto *const time = on.get();
    const std::unique_ptr<runtime> rt = std::move(on);
    const auto t = rt->at(rt->now() + 1s, [&](const runtime::event &e) {
        ++fired;
        EXPECT_EQ(e.due, rt->now());
    });
    time->advance(1s);
    EXPECT_EQ(fired, 1);
}

detached sleep(runtime &rt, runtime::time_point until, std::vector<runtime::time_point> &woke) {
    co_await rt.sleep_until(until);
    woke.push_back(rt.now());
    co_await rt.sleep_for(100ms);
    woke.push_back(rt.now());
}

TEST(VirtualTime, IsSleptThrough) {
    tickwheel::virtual_runtime rt;
    std::vector<runtime::time_point> woke;
    rt.advance(1h);
    const auto midnight = rt.now() + 24h;
    sleep(rt, midnight, woke);
    rt.advance(48h);
    EXPECT_EQ(woke, (std::vector{midnight, midnight + 100ms}));
}

// Workers take a `runtime &`, too.
TEST(VirtualTime, HasWorkers) {
    tickwheel::virtual_runtime time;
    runtime &rt = time;
    tickwheel::workers pool(rt, {.threads = 1});
    std::atomic<int> ran{0};
    pool.spawn(1h, [&] { ++ran; });
    time.advance(1h);
    pool.wait();
    EXPECT_EQ(ran, 1);
}

// The same for the other clocks.
void ring(tickwheel::wall_runtime &rt, tickwheel::timer &alarm,
          std::vector<tickwheel::wall_runtime::time_point> &rung) {
    alarm = rt.at(rt.now() + 8h, [&] { rung.push_back(rt.now()); });
}

TEST(VirtualTime, StandsInForTheWallClock) {
    tickwheel::virtual_wall_runtime rt;
    const tickwheel::wall_runtime::time_point evening(10'000h);
    std::vector<tickwheel::wall_runtime::time_point> rung;
    tickwheel::timer alarm;
    rt.set_wall(evening);
    ring(rt, alarm, rung);
    rt.set_wall(evening - 1h);  // the end of summer time
    rt.advance(8h);
    EXPECT_TRUE(rung.empty());
    rt.advance(1h);
    EXPECT_EQ(rung, std::vector{evening + 8h});
}

TEST(VirtualTime, StandsInForTheBootClock) {
    tickwheel::virtual_boot_runtime time;
    tickwheel::boot_runtime &rt = time;
    int fired = 0;
    const auto t = rt.at(rt.now() + 1s, [&] { ++fired; });
    time.leap(1s);
    EXPECT_EQ(fired, 1);
}

}  // namespace
