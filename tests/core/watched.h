/* Nodes that report being touched. Each occupies a page of its own, which is kept
 * inaccessible: the first access faults, is counted, and opens the page until the next
 * watch_again(). So the test counts reads as well as writes, in any part of the wheel. */
#ifndef TICKWHEEL_TESTS_WATCHED_H
#define TICKWHEEL_TESTS_WATCHED_H

#include <stddef.h>

#include <tickwheel/tw.h>

/* Makes n idle nodes that call fn(node, arg), and watches them from now on. */
void watched_open(size_t n, tw_callback *fn, void *arg);
void watched_close(void);
struct tw_node *watched_node(size_t i);

/* Between these two calls no access is counted or faults, so that preparing a test is cheap. */
void watch_pause(void);
void watch_resume(void);

/* Nodes touched since the last watch_again(). */
size_t watched_touched(void);
void watch_again(void);

#endif
