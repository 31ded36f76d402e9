/* A terminal as a grid of characters: drawn in memory, shown in one write. */
#ifndef WHEEL_SCREEN_H
#define WHEEL_SCREEN_H

#include <stdbool.h>

enum { ROWS = 24, COLUMNS = 80 };

/* Colours and weights; screen.c defines their looks. */
enum style { PLAIN, FAINT, BOLD, TITLE, ONE, FEW, MANY, HAND, SPARK, MOVING, STYLES };

/* Characters that ASCII may lack; screen.c has a spelling with and without UTF-8. */
enum glyph { GLYPH_SLOT, GLYPH_DOT, GLYPH_SPARK, GLYPH_MOVING, GLYPH_ARMED, GLYPH_DONE, GLYPH_OFF, GLYPHS };

/* Returns true if stdout is a terminal of at least ROWS x COLUMNS that takes ANSI sequences. */
bool screen_usable(void);

void screen_open(void);
void screen_close(void); /* restores the terminal */

void screen_clear(void);
void screen_glyph(int row, int column, enum glyph glyph, enum style style);
void screen_text(int row, int column, enum style style, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void screen_show(void);

#endif
