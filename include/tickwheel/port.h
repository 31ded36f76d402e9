/* tickwheel/port.h - the platform as the library sees it: a lock, and a wait for another thread.
 *
 * A port is a header that defines the functions declared below as `static inline` C. The build names
 * it (CMake: TW_PORT=linux, none, cortexm, riscv, freertos, or the path of a header of your own; see
 * docs/PORTING.md). Only the library's own sources include it.
 *
 *   linux   a spinlock that parks in the kernel after a short spin, so that a preempted holder
 *           cannot hang a waiter of higher priority
 *   none    no lock: for programs that use each wheel from one thread only
 *   cortexm, riscv
 *           bare metal on one core: the lock masks all interrupts, or with TW_BASEPRI those from a
 *           priority on, and restores the former mask
 *   freertos, zephyr
 *           the kernel's own lock for threads and interrupts: a critical section, irq_lock
 *
 * A lock is one 32-bit word inside struct tw. One caller never takes it twice, and it is held for at
 * most a fixed number of node moves (P8). On bare metal `lock` masks interrupts and keeps the former
 * mask in the word, and `unlock` restores it; locks of different wheels then nest in order. None of
 * these functions may be a cancellation point (pthread_cancel).
 *
 * The other functions let tw_wait sleep until a callback on another thread has returned. Where
 * advancing and waiting never happen on two threads at once (bare metal, or no lock), the port
 * defines TW_PORT_ONE_THREAD and leaves these functions out. */
#ifndef TICKWHEEL_PORT_H
#define TICKWHEEL_PORT_H

#include <stddef.h>
#include <stdint.h>

/* Initialises, takes and releases a lock. A word that is 0 must be an open lock, because a wheel
 * declared with TW_WHEEL is never initialised. */
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
 * no deadline). Spurious returns are allowed.
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

/* A port whose lock race detectors do not understand defines TW_PORT_CAN_BE_OBSERVED and:
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

/* A port that watches what users do with their nodes (the checking build, TW_CHECK=ON) defines
 * TW_PORT_CHECKS and the functions below, which end the program if something is wrong. `w` is the wheel
 * whose lock is held, if it has one.
 *
 *     void tw_port_check_wheel_init(const struct tw *w);
 *     void tw_port_check_node_init(const struct tw_node *node, const void *callback);
 * tw_init and tw_node_init call these before anything else; no lock is held.
 *
 *     void tw_port_check_to_arm(const struct tw_node *node);
 * Functions that arm a node call this before anything else; the node's contents may be anything. No
 * lock is held.
 *
 *     void tw_port_check_used(const struct tw *w, const struct tw_node *node);
 * The user has passed this node to a call, which has refused it if `w` is null. If the node is pending on
 * another wheel, whose lock is not held, this function must not read the node's contents.
 *
 *     void tw_port_check_pending(const struct tw_node *node);
 *     void tw_port_check_kept(const struct tw_node *node);
 *     void tw_port_check_idle(const struct tw_node *node);
 * `pending`: the node has become pending, or the wheel has changed it. `kept`: the node must still be as
 * `pending` last saw it, except for its links. `idle`: the node is no longer pending.
 *
 *     void tw_port_check_some(const struct tw *w);
 * Called regularly, to check a few of the wheel's pending nodes.
 *
 *     const void *tw_port_check_enter(const void *caller);
 *     void tw_port_check_leave(const void *const *former);
 * A call by the user begins, and ends; `leave` receives a pointer to the result of `enter`. Calls may
 * nest: then the outermost is the user's. */

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

/* TW_CHECKS(kept(node)) calls tw_port_check_kept(node), in a checking build only. TW_NOTE_CALLER
 * stores the address from which the function that contains it was called, for as long as that
 * function runs. */
#ifdef TW_PORT_CHECKS
#define TW_CHECKS(call) tw_port_check_##call
#define TW_NOTE_CALLER \
    __attribute__((cleanup(tw_port_check_leave), unused)) const void *const tw_former_caller = \
        tw_port_check_enter(__builtin_return_address(0))
#else
#define TW_CHECKS(call) (void)0
#define TW_NOTE_CALLER (void)0
#endif

#endif
