/* Prints the showcase: a row for each driver, and a histogram of how late its fires were. In a terminal
 * each frame replaces the one before; elsewhere every line is printed once. */
#ifndef DEMO_TABLE_H
#define DEMO_TABLE_H

#include <stdbool.h>

#include "trial.h"

/* Detects what stdout can show. Call it first. */
void table_open(void);

/* Draws a frame if stdout is live. `status` is its last line. */
void table_draw(struct trial trials[], unsigned count, const char *status);

/* If stdout is not live, prints the row of a driver that is done, with the heading before the first. */
void table_print_row(struct trial trials[], unsigned which);

/* Draws the last frame, or prints the rest of it. */
void table_close(struct trial trials[], unsigned count, const char *verdict, bool good);

#endif
