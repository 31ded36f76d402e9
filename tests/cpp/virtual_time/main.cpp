// The production program: the connection on a runtime with a thread, by epoll, in real time.
#include <chrono>
#include <cstdio>
#include <thread>

#include "connection.hpp"

using namespace std::chrono_literals;

int main() {
    tickwheel::runtime rt({.driver = "epoll"});
    const auto begin = std::chrono::steady_clock::now();
    connection peer(rt, {.ping = 2ms, .quiet = 20ms, .lease = 1h});
    while (peer.now_in() == connection::state::open)
        std::this_thread::sleep_for(1ms);
    const auto lasted = std::chrono::steady_clock::now() - begin;
    if (peer.now_in() == connection::state::silent && lasted >= 20ms && peer.pings() > 0)
        return 0;
    std::fprintf(stderr, "ended as %d after %.3f s, with %d pings\n", static_cast<int>(peer.now_in()),
                 std::chrono::duration<double>(lasted).count(), peer.pings());
    return 1;
}
