/* A terminal as a grid of characters: drawn in memory, shown in one write. */
#ifndef WHEEL_SCREEN_H
#define WHEEL_SCREEN_H

#include <stdbool.h>

enum { ROWS = 24, COLUMNS = 80 };

/* Colours and weights; what each looks like is in screen.c. */
enum style { PLAIN, FAINT, BOLD, TITLE, ONE, FEW, MANY, HAND, SPARK, MOVING, STYLES };

/* One character that plain ASCII may lack; screen.c has both spellings. */
enum glyph { GLYPH_SLOT, GLYPH_DOT, GLYPH_SPARK, GLYPH_MOVING, GLYPH_ARMED, GLYPH_DONE, GLYPH_OFF, GLYPHS };

/* Whether stdout is a terminal of at least ROWS x COLUMNS that takes ANSI sequences. */
bool screen_usable(void);

void screen_open(void);
void screen_close(void); /* leaves the terminal as it was */

void screen_clear(void);
void screen_glyph(int row, int column, enum glyph glyph, enum style style);
void screen_text(int row, int column, enum style style, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void screen_show(void);

#endif
