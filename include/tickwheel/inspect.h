/* tickwheel/inspect.h - a running program that can be looked at from outside (Linux).
 *
 *     tw_inspect_start(rt, NULL);
 *
 * From then on `tickwheel-top`, run by the same user, shows what the runtime does: fires and their labels,
 * how late they are and why, how long callbacks run, the pending timers. tickwheel-top cannot change
 * anything.
 *
 * A thread of its own, "tickwheel-look", answers on a socket; it sleeps while no client asks. It takes 200 KB
 * of address space and at most four clients at a time, drops those that are slow, and spends at most a
 * tenth of its time on answers. Timers do not wait for it.
 *
 * The socket is that of its owner: other users are refused, except root, who could look at the process
 * anyway. Off unless a program calls this.
 *
 * Conventions are those of runtime.h. Every function may be called from any thread but a callback's.
 */
#ifndef TICKWHEEL_INSPECT_H
#define TICKWHEEL_INSPECT_H

#include <tickwheel/runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Lets the runtime be looked at. If it is already, moves its socket to the new path; a call that is refused
 * leaves it where it was. `path`: an absolute path for the socket; null: where tickwheel-top looks, in the
 * folder $XDG_RUNTIME_DIR/tickwheel, or /tmp/tickwheel-UID if that is not set. Replaces a socket that a dead
 * process has left there. It ends with tw_runtime_free, and in the child of a fork.
 * Returns 0.
 *   -EINVAL      also: the path is not absolute, or is longer than 107 bytes
 *   -EADDRINUSE  there is something at the path, and it is no socket that a dead process has left
 *   -EPERM       the folder belongs to another user, or lets others in
 *   -ENOTDIR     what should be the folder is something else, such as a link
 *   -ENAMETOOLONG  the folder's name leaves no room for that of a socket
 *   -ENOMEM
 *   -EBUSY       called from a callback of the runtime
 *   others       from the system: no folder, no socket, no thread */
TW_MUST_CHECK int tw_inspect_start(struct tw_runtime *rt, const char *path);

#ifdef __cplusplus
}
#endif

#endif
