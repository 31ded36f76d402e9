/* Wraps libwebsockets' header of the same name: each timer ("sul") gets a Tickwheel node. */
#include <tickwheel/tw.h>

#define latency_us \
    latency_us; \
    struct tw_node node
#include <libwebsockets/lws-timeout-timer-original.h>
#undef latency_us
