/* tickwheel/inspect.h - lets other processes watch what a runtime does (Linux).
 *
 *     tw_inspect_start(rt, NULL);
 *
 * From then on `tickwheel-top`, run by the same user, shows what the runtime does: fires and their labels,
 * how late they are and why, how long callbacks run, the pending timers. tickwheel-top cannot change
 * anything.
 *
 * A thread of its own, "tickwheel-look", answers on a socket, and sleeps while no client asks. The thread
 * uses 200 KB of address space. It serves at most four clients at a time, drops clients that do nothing for
 * five seconds, and spends at most a tenth of its time on the answers to each client. Timers do not
 * wait for this thread.
 *
 * The socket belongs to the user of the process. Other users are refused, except root, who could
 * inspect the process anyway. None of this runs unless a program calls tw_inspect_start.
 *
 * Conventions are those of runtime.h. Every function may be called from any thread, but not from a
 * callback.
 */
#ifndef TICKWHEEL_INSPECT_H
#define TICKWHEEL_INSPECT_H

#include <tickwheel/runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Opens the runtime to tickwheel-top. If the runtime is open already, moves its socket to the new path;
 * a call that fails leaves the socket where it was. `path`: an absolute path for the socket; null:
 * where tickwheel-top looks, in the folder $XDG_RUNTIME_DIR/tickwheel, or /tmp/tickwheel-UID if that
 * variable is not set. Replaces a socket that a dead process has left there. The runtime stays open
 * until tw_runtime_free; in the child of a fork it is closed. Returns 0.
 *   -EINVAL      also: the path is not absolute, or is longer than 107 bytes
 *   -EADDRINUSE  the path is taken, by something other than a socket that a dead process has left
 *   -EPERM       the folder belongs to another user, or other users have rights on it
 *   -ENOTDIR     there is something other than a folder in the folder's place, such as a link
 *   -ENAMETOOLONG  the folder's name leaves no room for the name of a socket
 *   -ENOMEM
 *   -EBUSY       called from a callback of the runtime
 *   others       from the system: no folder, no socket, no thread */
TW_MUST_CHECK int tw_inspect_start(struct tw_runtime *rt, const char *path);

#ifdef __cplusplus
}
#endif

#endif
