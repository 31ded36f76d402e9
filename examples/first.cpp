#include <iostream>
#include <thread>
#include <tickwheel/tickwheel.hpp>
using namespace std::chrono_literals;

int main() {
    tickwheel::runtime timers;
    auto beat = timers.every(1s, [] { std::cout << "alive" << std::endl; });
    auto idle = timers.after(2s, [] { std::cout << "idle" << std::endl; });
    std::this_thread::sleep_for(1500ms);
    idle.move(2s);  // data came in
    std::this_thread::sleep_for(2700ms);
}  // both timers end with their scope
