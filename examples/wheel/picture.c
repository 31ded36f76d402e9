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
    LOG_LINES = 4,
    SPARK_FRAMES = 5,
    MOVE_FRAMES = 6,
    MOVES = 64 /* shown at one time */
};

static const double tau = 6.283185307179586;
static const double radius[LEVELS] = {10, 7, 4}; /* rows, by level */

/* Explanations, each shown from a tick on. */
static const struct {
    uint64_t from;
    const char *lines[2];
} captions[] = {
    {STORY_BEGIN,
     {"Arming a timer is one step: into the slot of its due tick. Due soon: the rim,",
      "level 0. Later: level 1, the middle ring. Much later: level 2, the inner ring."}},
    {1226,
     {"Each tick the hand moves one slot, and the timers in the slot it reaches fire.",
      "Every 16 ticks a slot of level 1 opens: its timers move down to level 0."}},
    {1260,
     {"Cancelling is one step, too. A postponed timer stays in its slot, and takes its",
      "new place only when that slot opens."}},
    {1278,
     {"Every 256 ticks a slot of level 2 opens: its timers move down to levels 1 and 0.",
      "(The library has 256 slots a level, and moves timers down early, in idle time.)"}},
    {1306,
     {"A timer moves down at most twice, and fires at exactly its tick. Between these",
      "steps nothing touches the timer: waiting timers cost no time, however many."}},
};

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
    for (unsigned level = 0; level < LEVELS; ++level)
        screen_text(CENTRE_ROW + (int)radius[level] - 1, CENTRE_COLUMN - 3, FAINT, "level %u", level);
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
    screen_text(CENTRE_ROW + 1, CENTRE_COLUMN - 6, FAINT, "slot %2u.%2u.%2u", digit(now, 2), digit(now, 1),
                digit(now, 0));
}

static void draw_timer(int row, unsigned who) {
    const struct timer *timer = &timers[who];
    static const enum style level_styles[LEVELS] = {BOLD, PLAIN, PLAIN};
    enum style style = timer->state == ARMED ? level_styles[timer->place.level] : FAINT;

    screen_text(row, PANEL + 2, style, "%-10s %-9s", timer->name, timer->kind);
    if (timer->state == ARMED) {
        screen_text(row, PANEL + 22, style, "%5" PRIu64 "%8u", story_due(timer), timer->place.level);
        screen_glyph(row, PANEL, GLYPH_ARMED, style);
    } else if (timer->state == DONE) {
        screen_text(row, PANEL + 22, style, "%5" PRIu64 "   fired", timer->fired);
        screen_glyph(row, PANEL, GLYPH_DONE, style);
    } else if (timer->state == CANCELLED) {
        screen_text(row, PANEL + 32, style, "off");
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
    screen_text(2, PANEL + 2, FAINT, "%-10s %-9s%5s%8s", "timer", "kind", "due", "level");
    for (unsigned i = 0; i < NAMED; ++i)
        draw_timer(3 + (int)i, i);
    screen_text(3 + NAMED, PANEL + 2, PLAIN, "conn-01 to %d: %2u armed, %2u fired", CONNECTIONS, connected,
                closed);
    for (int i = 0; i < LOG_LINES; ++i)
        screen_text(13 + i, PANEL, i == LOG_LINES - 1 ? BOLD : FAINT, "%.36s", log_lines[i]);
}

static void draw_legend(void) {
    for (unsigned level = 0; level < LEVELS; ++level)
        screen_text(18 + (int)level, PANEL, FAINT, "level %u: slots of %3u tick%s", level,
                    1u << (level * SLOT_BITS), level == 0 ? "" : "s");
    screen_text(18, PANEL + 28, HAND, "[ ]");
    screen_text(18, PANEL + 32, FAINT, "now");
    screen_text(19, PANEL + 28, FEW, " 2 ");
    screen_text(19, PANEL + 32, FAINT, "wait");
    screen_glyph(20, PANEL + 29, GLYPH_MOVING, MOVING);
    screen_text(20, PANEL + 32, FAINT, "move");
    screen_text(21, PANEL + 28, SPARK, "   ");
    screen_glyph(21, PANEL + 29, GLYPH_SPARK, SPARK);
    screen_text(21, PANEL + 32, FAINT, "fire");
}

static void draw_caption(uint64_t now) {
    unsigned i = 0;
    while (i + 1 < sizeof captions / sizeof *captions && captions[i + 1].from <= now)
        ++i;
    for (int line = 0; line < 2; ++line)
        screen_text(22 + line, 0, BOLD, "%s", captions[i].lines[line]);
}

void picture_draw(void) {
    screen_clear();
    screen_text(0, 0, TITLE, "Tickwheel");
    screen_text(0, 11, FAINT, "a wheel of %u rings with %u slots each, under virtual time", LEVELS, SLOTS);
    draw_wheel(tw_now(&wheel));
    draw_panel();
    draw_legend();
    draw_caption(tw_now(&wheel));
    screen_show();
}
