/* The common part of the programs in this folder: a few timers, which do not know in which loop they run. */
#ifndef TICKWHEEL_EXAMPLES_STORY_H
#define TICKWHEEL_EXAMPLES_STORY_H

#include <tickwheel/runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Makes a runtime and arms the first timers. The last of them calls `end`, which detaches the runtime from
 * the loop and ends the loop. `inside` runs the loop for a moment, inside a callback; null if the library
 * does not allow that. Without an argument all goes well; story.c lists the arguments. Ends the program if it
 * cannot make the runtime. */
struct tw_runtime *story_begin(int argc, char **argv, void (*end)(void), void (*inside)(void));

/* For a loop to call if the runtime cannot go on. */
void story_failed(int error, void *arg);

/* Prints why the runtime was not attached to a loop. */
void story_refused(int error);

/* Frees the runtime. Returns what main should: 0 if the story went as told. */
int story_end(void);

#ifdef __cplusplus
}
#endif

#endif
