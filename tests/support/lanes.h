/* Other numbers of lanes for the runtimes of a test: with TW_TEST_LANES=N in the environment, a runtime whose
 * options leave the number open has N lanes, and the timers of one thread go to them in turn. */
#ifndef SUPPORT_LANES_H
#define SUPPORT_LANES_H

/* Call it before the first runtime is made. Does nothing in a test that links the shared library or no
 * runtime. */
void choose_lanes(void);

/* The same for the runtimes made from now on; 0: the usual lanes. */
void use_lanes_in_turn(unsigned lanes);

#endif
