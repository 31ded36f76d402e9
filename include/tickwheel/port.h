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
 * it back; nesting across different wheels then restores in order. None of these functions
 * is a cancellation point (pthread_cancel).
 *
 * The rest lets tw_wait sleep until a callback on another thread has returned. Where
 * only one thread advances wheels and waits (bare metal; no lock), the port defines
 * TW_PORT_ONE_THREAD instead and leaves it out. */
#ifndef TICKWHEEL_PORT_H
#define TICKWHEEL_PORT_H

#include <stddef.h>
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
 * Wakes every thread that sleeps on the word.
 *
 * If there is somebody to tell what is wrong (a console, a log that survives a reset), it
 * defines TW_PORT_TELLS and
 *
 *     static inline void tw_port_tell(const char *broken, const void *node, unsigned state);
 * Says so, just before the library stops the program with __builtin_trap: a node that was
 * freed, copied or initialised while pending, or in a debug build a broken assertion. `node`
 * is null, or the node that is broken and its state. May be called with the lock held, must
 * not call the library, and may end the program in a better way. With it, links are checked
 * in every build; without it, in those with assertions. */

/* And, if it defines TW_PORT_CAN_BE_OBSERVED, for tools that follow what threads do and do not
 * understand its lock:
 *
 *     static inline int tw_port_is_observed(void);
 * Whether such a tool watches this process; it is asked once for each lock.
 *
 *     static inline void tw_port_lock_observed(uint32_t *word);
 *     static inline void tw_port_unlock_observed(uint32_t *word);
 * The same lock, and the tool is told.
 *
 *     static inline void tw_port_hide(const void *from, size_t size);
 * The tool looks at no access to these bytes: the library reads and writes them atomically. */

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

#ifndef TW_PORT_CAN_BE_OBSERVED
static inline int tw_port_is_observed(void) { return 0; }
static inline void tw_port_lock_observed(uint32_t *word) { tw_port_lock(word); }
static inline void tw_port_unlock_observed(uint32_t *word) { tw_port_unlock(word); }
static inline void tw_port_hide(const void *from, size_t size) { (void)from, (void)size; }
#endif

#endif
