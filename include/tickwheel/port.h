/* tickwheel/port.h - the platform as the library sees it: a lock, and a wait for another thread.
 *
 * A port is a header that defines the functions declared below as `static inline` C. The build names
 * it (CMake: TW_PORT=linux, none, cortexm, riscv, or the path of a header of your own; see
 * docs/PORTING.md). Only the library's own sources include it.
 *
 *   linux   a spinlock that parks in the kernel after a short spin, so that a preempted holder
 *           cannot hang a waiter of higher priority
 *   none    no lock: for programs that use each wheel from one thread only
 *   cortexm, riscv
 *           bare metal on one core: the lock masks interrupts and restores the former mask
 *
 * A lock is one 32-bit word inside struct tw. One caller never takes it twice, and it is held for at
 * most a fixed number of node moves (P8). On bare metal `lock` masks interrupts and keeps the former
 * mask in the word, and `unlock` restores it; locks of different wheels then nest in order. None of
 * these functions may be a cancellation point (pthread_cancel).
 *
 * The other functions let tw_wait sleep until a callback on another thread has returned. Where
 * advancing and waiting never happen on two threads at once (bare metal, or no lock), the port
 * defines TW_PORT_ONE_THREAD and leaves them out. */
#ifndef TICKWHEEL_PORT_H
#define TICKWHEEL_PORT_H

#include <stddef.h>
#include <stdint.h>

/* Initialises, takes and releases a lock. */
static inline void tw_port_lock_init(uint32_t *word);
static inline void tw_port_lock(uint32_t *word);
static inline void tw_port_unlock(uint32_t *word);

/* Unless the port defines TW_PORT_ONE_THREAD, it also defines:
 *
 *     static inline uintptr_t tw_port_self(void);
 * Returns a value that identifies the calling thread among all threads that are running.
 *
 *     static inline void tw_port_wait(uint32_t *word, uint32_t seen, int64_t deadline_ns);
 * Sleeps while *word equals `seen`, at most until the monotonic clock reads `deadline_ns` (INT64_MAX:
 * no deadline). May return early for no reason.
 *
 *     static inline void tw_port_wake_all(uint32_t *word);
 * Wakes every thread that sleeps on the word.
 *
 * A port that can report an error, to a console or to a log that survives a reset, defines
 * TW_PORT_TELLS and:
 *
 *     static inline void tw_port_tell(const char *broken, const void *node, unsigned state);
 * Reports why the library is about to stop the program with __builtin_trap: a node that was freed,
 * copied or initialised while pending, or in a debug build a broken assertion. `node` is null, or the
 * broken node, whose state is `state`. May be called with the lock held, must not call the library,
 * and may end the program itself. With this function links are checked in every build; without it,
 * only in builds with assertions. */

/* A port whose lock is not understood by tools that observe threads defines
 * TW_PORT_CAN_BE_OBSERVED and:
 *
 *     static inline int tw_port_is_observed(void);
 * Returns 1 if such a tool observes this process, else 0. Called once for each lock.
 *
 *     static inline void tw_port_lock_observed(uint32_t *word);
 *     static inline void tw_port_unlock_observed(uint32_t *word);
 * The same lock, which also reports its order to the tool.
 *
 *     static inline void tw_port_hide(const void *from, size_t size);
 * Makes the tool ignore accesses to these bytes, which the library reads and writes atomically. */

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
