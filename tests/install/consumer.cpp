// A user's program with the C++ interface.
#include <string>

#include <tickwheel/tickwheel.hpp>
#include <tickwheel/ttl_map.hpp>

using namespace std::chrono_literals;

int main() {
    tickwheel::virtual_runtime rt;
    int fired = 0;
    const tickwheel::timer often = rt.every(1s, [&] { ++fired; });
    tickwheel::ttl_map<std::string, int> map(rt, {.ttl = 10s});
    map.set("answer", 42);
    rt.advance(5s);
    if (fired != 5 || map.get("answer") != 42)
        return 1;
    rt.advance(5s);
    return map.get("answer").has_value() ? 2 : 0;
}
