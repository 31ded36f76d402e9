/* libuv's header, with a wheel in each loop and a node in each timer. */
#ifndef TICKWHEEL_ADOPT_UV_H
#define TICKWHEEL_ADOPT_UV_H

#include <tickwheel/tw.h>

#include "uv/unix.h"
#undef UV_TIMER_PRIVATE_FIELDS
#define UV_TIMER_PRIVATE_FIELDS \
    uv_timer_cb timer_cb; \
    struct tw_node node; \
    uint64_t repeat;

/* The loop's member timer_heap stays, and the wheel follows it. */
#define timer_heap \
    timer_heap; \
    struct tw wheel
#include "uv_original.h"
#undef timer_heap

#endif
