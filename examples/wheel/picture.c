#include "picture.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "screen.h"

enum {
    CENTRE_ROW = 11,
    CENTRE_COLUMN = 21,
    PANEL = 44, /* first column of the panel */
    LOG_LINES = 5,
    SPARK_FRAMES = 8,
    MOVE_FRAMES = 10,
    MOVES = 64 /* shown at one time */
};

static const double tau = 6.283185307179586;
static const double radius[LEVELS] = {10, 7, 4}; /* rows, by level */

static char log_lines[LOG_LINES][COLUMNS];
static int sparks[SLOTS];     /* frames left, by slot of level 0 */
static int just_fired[NAMED]; /* frames left, by timer */
static struct {
    struct place from, to;
    int frame;
} moves[MOVES];
static unsigned next_move;

static void log_line(const struct event *event) {
    memmove(log_lines[0], log_lines[1], sizeof log_lines - sizeof log_lines[0]);
    event_text(event, log_lines[LOG_LINES - 1], sizeof log_lines[0]);
}

void picture_hear(const struct event *event) {
    bool named = event->timer != NULL && event->timer < timers + NAMED;
    switch (event->what) {
    case EVENT_MOVE:
        moves[next_move].from = event->from;
        moves[next_move].to = event->to;
        moves[next_move].frame = 1;
        next_move = (next_move + 1) % MOVES;
        return;
    case EVENT_FIRE:
        sparks[digit(event->tick, 0)] = SPARK_FRAMES;
        if (named)
            just_fired[event->timer - timers] = 2 * SPARK_FRAMES;
        break;
    default:
        break;
    }
    if (named || event->what == EVENT_CASCADE)
        log_line(event);
}

static double turn_of(double slot) { return (slot / SLOTS - 0.25) * tau; }

/* Computes row and column at a distance from the hub; characters are twice as high as wide. */
static void locate(double turn, double distance, int *row, int *column) {
    *row = CENTRE_ROW + (int)lround(distance * sin(turn));
    *column = CENTRE_COLUMN + (int)lround(2 * distance * cos(turn));
}

static void draw_slot(unsigned level, unsigned slot, unsigned held, bool hand) {
    int row, column;
    locate(turn_of(slot), radius[level], &row, &column);
    enum style style = hand ? HAND : held == 0 ? FAINT : held == 1 ? ONE : held <= 3 ? FEW : MANY;
    if (held > 0)
        screen_text(row, column - 1, style, held < 10 ? " %u " : "%2u ", held);
    else
        screen_glyph(row, column, GLYPH_SLOT, style);
    if (hand) {
        screen_text(row, column - 1, style, "[");
        screen_text(row, column + 1, style, "]");
    }
    if (level == 0 && sparks[slot] > 0) {
        screen_text(row, column - 1, SPARK, hand ? "[ ]" : "   ");
        screen_glyph(row, column, GLYPH_SPARK, SPARK);
    }
}

static void draw_hand(unsigned level, uint64_t now) {
    for (int half_rows = 6; half_rows < (int)(2 * radius[level]) - 1; ++half_rows) {
        int row, column;
        locate(turn_of(digit(now, level)), half_rows / 2.0, &row, &column);
        screen_glyph(row, column, GLYPH_DOT, FAINT);
    }
}

/* Draws dots between the slots of the rim, so that it looks like a circle. */
static void draw_rim(void) {
    for (unsigned i = 0; i < 4 * SLOTS; ++i) {
        int row, column;
        locate(turn_of(i / 4.0), radius[0], &row, &column);
        screen_glyph(row, column, GLYPH_DOT, FAINT);
    }
}

static void draw_moves(void) {
    for (unsigned i = 0; i < MOVES; ++i) {
        if (moves[i].frame == 0)
            continue;
        double share = (double)moves[i].frame / MOVE_FRAMES;
        double from = moves[i].from.slot, way = moves[i].to.slot - from;
        if (fabs(way) > SLOTS / 2.0)
            way -= copysign(SLOTS, way);
        double start = radius[moves[i].from.level], end = radius[moves[i].to.level];
        int row, column;
        locate(turn_of(from + share * way), start + share * (end - start), &row, &column);
        screen_glyph(row, column, GLYPH_MOVING, MOVING);
        moves[i].frame = moves[i].frame == MOVE_FRAMES ? 0 : moves[i].frame + 1;
    }
}

static void draw_wheel(uint64_t now) {
    unsigned held[LEVELS][SLOTS] = {{0}};
    for (const struct timer *timer = timers; timer < timers + TIMERS; ++timer)
        if (timer->state == ARMED)
            ++held[timer->place.level][timer->place.slot];

    draw_rim();
    draw_hand(0, now);
    for (unsigned level = 0; level < LEVELS; ++level)
        for (unsigned slot = 0; slot < SLOTS; ++slot)
            draw_slot(level, slot, held[level][slot], slot == digit(now, level));
    draw_moves();
    for (unsigned slot = 0; slot < SLOTS; ++slot)
        if (sparks[slot] > 0)
            --sparks[slot];

    screen_text(CENTRE_ROW - 1, CENTRE_COLUMN - 2, FAINT, "tick");
    screen_text(CENTRE_ROW, CENTRE_COLUMN - 2, BOLD, "%4" PRIu64, now);
    screen_text(CENTRE_ROW + 1, CENTRE_COLUMN - 4, FAINT, "%2u.%2u.%2u", digit(now, 2), digit(now, 1),
                digit(now, 0));
}

static void draw_timer(int row, unsigned who) {
    const struct timer *timer = &timers[who];
    static const enum style level_styles[LEVELS] = {BOLD, PLAIN, PLAIN};
    enum style style = timer->state == ARMED ? level_styles[timer->place.level] : FAINT;

    screen_text(row, PANEL + 2, style, "%-10s %-9s", timer->name, timer->kind);
    if (timer->state == ARMED) {
        uint64_t left = tw_expiry(&wheel, &timer->node) - tw_now(&wheel);
        screen_text(row, PANEL + 22, style, "%6" PRIu64 "%6" PRIu64, story_due(timer), left);
        screen_glyph(row, PANEL, GLYPH_ARMED, style);
    } else if (timer->state == DONE) {
        screen_text(row, PANEL + 22, style, "%6" PRIu64 "  done", timer->fired);
        screen_glyph(row, PANEL, GLYPH_DONE, style);
    } else if (timer->state == CANCELLED) {
        screen_text(row, PANEL + 30, style, " off");
        screen_glyph(row, PANEL, GLYPH_OFF, style);
    }
    if (just_fired[who] > 0) {
        --just_fired[who];
        screen_glyph(row, PANEL, GLYPH_SPARK, SPARK);
    }
}

static void draw_panel(void) {
    unsigned connected = 0, closed = 0;
    for (unsigned i = NAMED; i < TIMERS; ++i) {
        connected += timers[i].state == ARMED;
        closed += timers[i].state == DONE;
    }
    screen_text(2, PANEL + 2, FAINT, "%-10s %-9s%6s%6s", "timer", "kind", "due", "in");
    for (unsigned i = 0; i < NAMED; ++i)
        draw_timer(3 + (int)i, i);
    screen_text(3 + NAMED, PANEL + 2, PLAIN, "conn-01 to %d: %2u armed, %2u fired", CONNECTIONS, connected,
                closed);
    for (int i = 0; i < LOG_LINES; ++i)
        screen_text(4 + NAMED + 1 + i, PANEL, i == LOG_LINES - 1 ? BOLD : FAINT, "%.36s", log_lines[i]);
}

void picture_draw(void) {
    screen_clear();
    screen_text(0, 1, TITLE, "Tickwheel");
    screen_text(0, 13, FAINT, "a wheel of %d levels with %u slots each, under virtual time", LEVELS, SLOTS);
    draw_wheel(tw_now(&wheel));
    draw_panel();
    screen_text(22, 1, FAINT, "A slot of the rim is 1 tick, then %u, then %u.", SLOTS, SLOTS * SLOTS);
    screen_text(22, PANEL + 5, HAND, "[ ]");
    screen_text(22, PANEL + 9, FAINT, "now");
    screen_text(22, PANEL + 14, ONE, " 1 ");
    screen_text(22, PANEL + 18, FEW, " 2 ");
    screen_text(22, PANEL + 22, MANY, " 4 ");
    screen_text(22, PANEL + 26, FAINT, "timers");
    screen_show();
}
