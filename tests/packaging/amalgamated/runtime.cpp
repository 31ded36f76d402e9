// A program in C++20 with the library in two files and tickwheel.hpp, on virtual time.
#include "tickwheel.hpp"

using namespace std::chrono_literals;

int main() {
    tickwheel::virtual_runtime timers;
    int fires = 0;
    auto beat = timers.every(1s, [&] { ++fires; });
    auto idle = timers.after(2s, [&] { ++fires; });
    idle.move(5s);
    timers.advance(4s);
    return fires == 4 && idle.cancel() ? 0 : 1;
}
