// As ignored.c, for the C++ headers.
#include <tickwheel/tickwheel.hpp>
#include <tickwheel/ttl_map.hpp>

using namespace std::chrono_literals;

void ignore(tickwheel::runtime &rt, tickwheel::timer &timer, tickwheel::ttl_map<int, int> &map) {
    rt.after(1s, [] {});         // warns
    rt.sleep_for(1s);            // warns
    rt.now();                    // warns
    timer.pending();             // warns
    map.contains(1);             // warns
    tw_runtime_fd(rt.native());  // warns
    rt.spawn(1s, [] {});
    timer.cancel();
    map.get(1);
}
