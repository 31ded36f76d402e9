/* modes.h - the modes of a program of the model. The first argument chooses one, and the mode gets the
 * others. */
#ifndef TICKWHEEL_TESTS_MODES_H
#define TICKWHEEL_TESTS_MODES_H

#ifdef __cplusplus
extern "C" {
#endif

int random_main(int argc, char **argv);
int exhaustive_main(int argc, char **argv);
int replay_main(int argc, char **argv);

#ifdef __cplusplus
}
#endif

#endif
