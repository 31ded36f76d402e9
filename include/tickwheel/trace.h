/* tickwheel/trace.h - a recording of fires, to view on a time line (Linux).
 *
 *     tw_trace_start(rt, 100000);               // keeps the last 100,000 fires
 *     ...
 *     tw_trace_write(rt, to_file, file);        // any number of times, while it goes on
 *
 * Open the output in ui.perfetto.dev or chrome://tracing: each callback is a slice on the thread
 * that ran it, named by its label, or else its function; a click on a slice shows when the callback
 * was due, how late it began and why. A counter shows lateness over time.
 *
 * A recorded fire takes 64 bytes, and about 50 ns of the thread that fires or of the worker. No
 * lock is taken. While nothing is recorded, a fire pays for one branch.
 *
 * Conventions are those of runtime.h. Every function may be called from any thread, callbacks included.
 */
#ifndef TICKWHEEL_TRACE_H
#define TICKWHEEL_TRACE_H

#include <stddef.h>

#include <tickwheel/observe.h>
#include <tickwheel/runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TW_TRACE_MAX 16777216 /* most fires that a recording can keep */

/* Begins a recording that keeps the last `fires` fires, rounded up to a power of two: 1,000 keeps 1,024.
 * The call discards an earlier recording. The first call allocates all memory, which
 * tw_runtime_free releases; later calls reuse this memory. A call with 0 fires ends the recording, which
 * tw_trace_write can still write. Returns 0. In the child of a fork nothing is recorded until the
 * child calls this again.
 *   -EINVAL  also: `fires` is more than TW_TRACE_MAX
 *   -ENOENT  `fires` is 0, and nothing is being recorded
 *   -ENOSPC  `fires` is more than the memory of the first call has room for
 *   -ENOMEM */
TW_MUST_CHECK int tw_trace_start(struct tw_runtime *rt, size_t fires);

/* Writes the recording as JSON, in the trace event format of Chrome, by calls of write(text, size, arg).
 * Recording may go on during the call, which leaves out fires that begin after the call has begun, and
 * fires that are overwritten before the call reaches them. Times are those of CLOCK_MONOTONIC, in
 * microseconds; durations in arguments are in the unit that ends their name. Returns how many fires
 * were written.
 *   -ENOENT  nothing was ever recorded */
int64_t tw_trace_write(struct tw_runtime *rt, tw_text *write, void *arg);

#ifdef __cplusplus
}
#endif

#endif
