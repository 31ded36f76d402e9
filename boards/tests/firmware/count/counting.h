/* counting.h - counts the instructions of one call, without those that an empty call and
 * measuring take.
 *
 * The machine's second timer advances several counts per instruction (INSTRUCTION_NS), so the
 * figures are exact, and the same in each run. */
#ifndef COUNTING_H
#define COUNTING_H

#include <tickwheel/tw.h>

/* One line of the table: the least and the most that was counted. */
struct figure {
    unsigned least, most;
};

typedef int arming(struct tw *w, struct tw_node *n, tw_tick tick);
typedef int of_node(struct tw *w, struct tw_node *n);
typedef int of_wheel(struct tw *w);
typedef tw_tick asking(struct tw *w);

/* Measures the cost of measuring. */
void counting_start(void);

struct figure figure_none(void);
void count_arming(struct figure *f, arming *call, struct tw *w, struct tw_node *n, tw_tick tick);
void count_of_node(struct figure *f, of_node *call, struct tw *w, struct tw_node *n);
void count_of_wheel(struct figure *f, of_wheel *call, struct tw *w);
void count_asking(struct figure *f, asking *call, struct tw *w);

void print_figure(const char *what, const struct figure *f);

#endif
