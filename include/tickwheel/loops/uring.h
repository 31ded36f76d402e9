/* tickwheel/loops/uring.h - the timers of a runtime in a loop on io_uring (liburing).
 *
 *     static struct tw_uring timers;
 *     int error = tw_uring_attach(&timers, &ring, rt, on_failed, NULL);
 *     for (;;) {
 *         io_uring_submit_and_wait(&ring, 1);
 *         ... for each completion, after io_uring_cqe_seen:
 *         if (data == &timers)
 *             tw_uring_complete(&timers, res);   // the callbacks of the runtime's timers run here
 *     }
 *     tw_uring_detach(&timers);              // anywhere on the loop's thread, callbacks included
 *     tw_runtime_free(rt);
 *
 *   Arguments  `timers` is the struct that you passed to attach.
 *   Owners     Ring and runtime are yours; the runtime has the driver "timerfd" and is not started. Detach
 *              before you free the runtime. The struct must stay where it is while tw_uring_outstanding
 *              returns true: its address is the data of all entries that this file prepares.
 *   Threads    Attach, complete and detach on the loop's thread. Timers may be armed on any thread.
 *   Entries    One poll at a time, armed again after each dispatch. This file prepares entries, and your loop
 *              submits them; if the submission queue is full, this file submits the queue. */
#ifndef TICKWHEEL_LOOPS_URING_H
#define TICKWHEEL_LOOPS_URING_H

#include <errno.h>
#include <liburing.h>
#include <poll.h>
#include <stdbool.h>
#include <tickwheel/runtime.h>

struct tw_uring {
    struct io_uring *ring;
    struct tw_runtime *rt; /* null: not attached */
    int fd;
    unsigned outstanding; /* entries without their completion */
    void (*failed)(int error, void *arg);
    void *arg;
    bool *detached; /* during a dispatch: a flag that detach sets */
};

/* Internal: the next free entry; null if there is none. */
static inline struct io_uring_sqe *tw_uring_entry(const struct tw_uring *timers) {
    struct io_uring_sqe *entry = io_uring_get_sqe(timers->ring);
    if (entry == NULL && io_uring_submit(timers->ring) >= 0)
        entry = io_uring_get_sqe(timers->ring);
    return entry;
}

/* Internal. */
static inline int tw_uring_poll(struct tw_uring *timers) {
    struct io_uring_sqe *entry = tw_uring_entry(timers);
    if (entry == NULL)
        return -EBUSY;
    io_uring_prep_poll_add(entry, timers->fd, POLLIN);
    io_uring_sqe_set_data(entry, timers);
    ++timers->outstanding;
    return 0;
}

/* Returns true while completions for this struct are outstanding. */
static inline bool tw_uring_outstanding(const struct tw_uring *timers) { return timers->outstanding != 0; }

/* Makes the ring poll for the runtime. If polling or a dispatch fails, this file stops watching and calls
 * failed(error, arg): detach, and find out why. Returns 0.
 *   -EINVAL  `failed` is null
 *   -EBUSY   the submission queue is full
 *   others   as tw_runtime_fd */
static inline int tw_uring_attach(struct tw_uring *timers, struct io_uring *ring, struct tw_runtime *rt,
                                  void (*failed)(int error, void *arg), void *arg) {
    const int fd = failed != NULL ? tw_runtime_fd(rt) : -EINVAL;
    int error;
    timers->rt = NULL;
    timers->outstanding = 0;
    if (fd < 0)
        return fd;
    timers->ring = ring;
    timers->fd = fd;
    timers->failed = failed;
    timers->arg = arg;
    timers->detached = NULL;
    error = tw_uring_poll(timers);
    timers->rt = error == 0 ? rt : NULL;
    return error;
}

/* Internal. */
static inline void tw_uring_ready(struct tw_uring *timers, int result) {
    bool detached = false;
    int error;
    /* cppcheck-suppress autoVariables; it is null again before the end */
    timers->detached = &detached;
    error = result < 0 ? result : tw_runtime_dispatch(timers->rt);
    if (detached)
        return; /* the struct may be gone */
    timers->detached = NULL;
    if (error == 0)
        error = tw_uring_poll(timers);
    if (error != 0)
        timers->failed(error, timers->arg);
}

/* Call this with the result of each completion whose data is this struct. A failed poll (`result` is
 * negative) ends the watching. */
static inline void tw_uring_complete(struct tw_uring *timers, int result) {
    --timers->outstanding;
    if (timers->rt != NULL)
        tw_uring_ready(timers, result);
}

/* Cancels the poll. The poll and the cancellation each end with a completion. Returns 0, even if the runtime
 * is not attached.
 *   -EBUSY  the submission queue is full; still attached */
static inline int tw_uring_detach(struct tw_uring *timers) {
    if (timers->rt == NULL)
        return 0;
    if (timers->outstanding != 0) {
        struct io_uring_sqe *entry = tw_uring_entry(timers);
        if (entry == NULL)
            return -EBUSY;
        io_uring_prep_poll_remove(entry, (uintptr_t)timers);
        io_uring_sqe_set_data(entry, timers);
        ++timers->outstanding;
    }
    timers->rt = NULL;
    if (timers->detached != NULL)
        *timers->detached = true;
    return 0;
}

#endif
