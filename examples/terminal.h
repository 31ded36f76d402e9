/* Properties of the terminal on stdout, for the demo and the picture of the wheel. */
#ifndef TICKWHEEL_EXAMPLES_TERMINAL_H
#define TICKWHEEL_EXAMPLES_TERMINAL_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Returns true if stdout is a terminal that takes ANSI sequences and, if it reports its size, is large
 * enough. */
static inline bool terminal_is_usable(int rows, int columns) {
    const char *term = getenv("TERM");
    struct winsize size;
    if (!isatty(STDOUT_FILENO) || term == NULL || *term == '\0' || strcmp(term, "dumb") == 0)
        return false;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0)
        return true;
    return size.ws_row >= rows && size.ws_col >= columns;
}

/* Returns false if the user wants no colours (no-color.org). */
static inline bool terminal_wants_colour(void) {
    const char *no_color = getenv("NO_COLOR");
    return no_color == NULL || *no_color == '\0';
}

#endif
