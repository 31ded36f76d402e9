/* The application that docs/PORTING.md assumes around its code; the test implements it. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include <tickwheel/tw.h>

void modem_send(void);
void on_no_answer(struct tw_node *node, void *arg);
void on_blink(struct tw_node *node, void *arg);

#endif
