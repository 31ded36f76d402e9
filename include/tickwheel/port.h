/* The platform, as the library sees it: a lock, and a wait for another thread.
 *
 * A port is a header that defines the functions declared below, as `static inline` C. The build
 * names it (CMake: TW_PORT=linux, none, cortexm, riscv, or the path of a header of your own; see
 * docs/PORTING.md); nothing outside the library's own sources includes it.
 *
 *   linux   a spinlock that parks in the kernel after a short spin, so that a
 *           preempted holder cannot hang a waiter of higher priority
 *   none    no lock: for programs that use each wheel from one thread only
 *   cortexm, riscv
 *           bare metal on one core: the lock masks interrupts, and puts back what was
 *
 * A lock is one 32-bit word inside struct tw. It is never taken twice by one
 * caller, and held for at most a fixed number of node moves (P8). On bare metal
 * `lock` masks interrupts and keeps the former mask in the word, `unlock` puts
 * it back; nesting across different wheels then restores in order.
 *
 * The rest lets tw_wait sleep until a callback on another thread has returned. Where
 * only one thread advances wheels and waits (bare metal; no lock), the port defines
 * TW_PORT_ONE_THREAD instead and leaves it out. */
#ifndef TICKWHEEL_PORT_H
#define TICKWHEEL_PORT_H

#include <stdint.h>

static inline void tw_port_lock_init(uint32_t *word);
static inline void tw_port_lock(uint32_t *word);
static inline void tw_port_unlock(uint32_t *word);

/* And, unless it defines TW_PORT_ONE_THREAD:
 *
 *     static inline uintptr_t tw_port_self(void);
 * Which thread this is: differs between any two that run.
 *
 *     static inline void tw_port_wait(uint32_t *word, uint32_t seen, int64_t deadline_ns);
 * Sleeps while *word is `seen`, at most until `deadline_ns` of the monotonic clock
 * (INT64_MAX: no deadline). May return early for no reason.
 *
 *     static inline void tw_port_wake_all(uint32_t *word);
 * Wakes every thread that sleeps on the word. */

#ifndef TW_PORT_HEADER
#error "the build names the port: see TW_PORT in CMakeLists.txt"
#endif
#include TW_PORT_HEADER

#ifdef TW_PORT_ONE_THREAD
static inline uintptr_t tw_port_self(void) { return 0; }
static inline void tw_port_wait(uint32_t *word, uint32_t seen, int64_t deadline_ns) {
    (void)word, (void)seen, (void)deadline_ns;
}
static inline void tw_port_wake_all(uint32_t *word) { (void)word; }
#endif

#endif
