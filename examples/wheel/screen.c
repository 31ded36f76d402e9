#include "screen.h"

#include <langinfo.h>
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../terminal.h"

/* Only the sixteen basic colours, so that the terminal's own theme applies. */
static const char *const style_codes[STYLES] = {
    [PLAIN] = "",     [FAINT] = ";90",   [BOLD] = ";1",   [TITLE] = ";1;36",    [ONE] = ";30;42",
    [FEW] = ";30;43", [MANY] = ";97;41", [HAND] = ";1;7", [SPARK] = ";1;93;45", [MOVING] = ";1;96",
};

/* Without colours, only weight distinguishes the styles. */
static const char *const weight_codes[STYLES] = {
    [PLAIN] = "", [FAINT] = "",  [BOLD] = ";1", [TITLE] = ";1", [ONE] = "",
    [FEW] = "",   [MANY] = ";1", [HAND] = ";7", [SPARK] = ";1", [MOVING] = ";1",
};

static const char *const spellings[2][GLYPHS] = {
    {".", ".", "*", "o", "o", "-", "x"},
    {"○", "·", "✶", "•", "●", "✓", "×"},
};

struct cell {
    char text[4]; /* one character of UTF-8, not terminated if it takes all four */
    enum style style;
};

static struct cell grid[ROWS][COLUMNS];
static const char *const *codes = weight_codes;
static const char *const *glyphs = spellings[0];

bool screen_usable(void) { return terminal_is_usable(ROWS, COLUMNS); }

static void emit(const char *bytes, size_t size) {
    while (size > 0) {
        ssize_t written = write(STDOUT_FILENO, bytes, size);
        if (written <= 0)
            return;
        bytes += written;
        size -= (size_t)written;
    }
}

static void emit_text(const char *text) { emit(text, strlen(text)); }

void screen_open(void) {
    setlocale(LC_CTYPE, "");
    if (terminal_wants_colour())
        codes = style_codes;
    if (strcmp(nl_langinfo(CODESET), "UTF-8") == 0)
        glyphs = spellings[1];
    emit_text("\033[?1049h\033[?25l\033[2J"); /* alternate screen, cursor hidden, cleared */
}

void screen_close(void) { emit_text("\033[0m\033[?25h\033[?1049l"); }

void screen_clear(void) {
    for (int row = 0; row < ROWS; ++row)
        for (int column = 0; column < COLUMNS; ++column)
            grid[row][column] = (struct cell){.text = " ", .style = PLAIN};
}

static void put(int row, int column, const char *text, size_t size, enum style style) {
    if (row < 0 || row >= ROWS || column < 0 || column >= COLUMNS)
        return;
    struct cell *cell = &grid[row][column];
    memset(cell->text, 0, sizeof cell->text);
    memcpy(cell->text, text, size);
    cell->style = style;
}

void screen_glyph(int row, int column, enum glyph glyph, enum style style) {
    put(row, column, glyphs[glyph], strlen(glyphs[glyph]), style);
}

void screen_text(int row, int column, enum style style, const char *format, ...) {
    char text[COLUMNS + 1];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    for (int i = 0; text[i] != '\0'; ++i)
        put(row, column + i, &text[i], 1, style);
}

void screen_show(void) {
    /* A cell takes at most a style's escape sequence and four bytes. */
    static char frame[ROWS * (COLUMNS * 16 + 16)];
    size_t used = 0;
    for (int row = 0; row < ROWS; ++row) {
        used += (size_t)sprintf(frame + used, "\033[%d;1H\033[0m", row + 1);
        enum style current = PLAIN;
        for (int column = 0; column < COLUMNS; ++column) {
            const struct cell *cell = &grid[row][column];
            if (cell->style != current)
                used += (size_t)sprintf(frame + used, "\033[0%sm", codes[cell->style]);
            current = cell->style;
            size_t size = strnlen(cell->text, sizeof cell->text);
            memcpy(frame + used, cell->text, size);
            used += size;
        }
    }
    emit(frame, used);
}
