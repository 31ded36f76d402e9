// looked_at_tree: a wheel on the engine of small parts, for gdb to look at. It has the library's types in its
// debug information.
#include "core/engine.hpp"

tw the_wheel;
static tw_node nodes[6];

__attribute__((used)) static const tickwheel::core::library_wheel *tw_type_of_wheel;

// Where a debugger stops the program.
extern "C" void all_is_there();
__attribute__((noinline)) void all_is_there() { __asm__ volatile("" ::: "memory"); }

int main() {
    const tw_tick due[] = {9, 7, 1000, 11, 7, 4711};
    int errors = tw_init(&the_wheel, 5, 0);
    for (unsigned i = 0; i < 6; ++i) {
        errors |= tw_node_init(
            &nodes[i], [](tw_node *, void *) {}, nullptr);
        errors |= tw_arm_at(&the_wheel, &nodes[i], due[i]);
    }
    all_is_there();
    return errors == 0 ? 0 : 1;
}
