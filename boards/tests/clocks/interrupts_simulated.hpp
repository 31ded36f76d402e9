// The interrupts of a simulated processor and their mask, in place of cortexm/interrupts.h. Include this
// after a simulation, whose `cpu`, `pass` and handlers it uses.
#pragma once

#define TICKWHEEL_CORTEXM_INTERRUPTS_H

namespace simulated {

static void serve() {
    if (cpu.masked || cpu.serving)
        return;
    cpu.serving = true;
    if (cpu.nagging)
        serve_other();
    while (cpu.pending || cpu.other) {
        if (cpu.other) {
            cpu.other = false;
            cpu.other_at = NEVER;
            serve_other();
        } else {
            cpu.pending = false;
            serve_timer();
        }
    }
    cpu.serving = false;
}

}  // namespace simulated

static uint32_t tw_interrupts_mask() {
    simulated::serve();
    const bool was = simulated::cpu.masked;
    simulated::cpu.masked = true;
    simulated::pass(1);
    return was ? 1U : 0U;
}

static void tw_interrupts_restore(uint32_t mask) {
    simulated::pass(1);
    simulated::cpu.masked = mask != 0;
    simulated::serve();
}

static uint32_t tw_interrupts_mask_to_wait() { return tw_interrupts_mask(); }
static void tw_interrupts_restore_from_wait(uint32_t mask) { tw_interrupts_restore(mask); }
