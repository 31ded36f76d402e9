/* The showcase in words and bars: a row for each driver, and how late its fires were.
 * In a terminal each frame takes the place of the one before; elsewhere every line is
 * printed once. */
#ifndef DEMO_TABLE_H
#define DEMO_TABLE_H

#include <stdbool.h>

#include "trial.h"

/* Finds out what stdout can show. */
void table_open(void);

/* Shows all there is so far, if stdout shows it live. `status` is the last line. */
void table_draw(struct trial trials[], unsigned count, const char *status);

/* Where nothing is shown live: the row of a driver that is done, after the first the
 * heading, too. */
void table_print_row(struct trial trials[], unsigned which);

/* The last frame, or what is left to print of it. */
void table_close(struct trial trials[], unsigned count, const char *verdict, bool good);

#endif
