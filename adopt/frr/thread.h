/* FRR's header, with a wheel in each master and a node in each timer, in place of a heap and an index. */
#ifndef TICKWHEEL_ADOPT_FRR_THREAD_H
#define TICKWHEEL_ADOPT_FRR_THREAD_H

#include <zebra.h>

#include "typesafe.h"

#include <tickwheel/tw.h>

struct thread;

#pragma push_macro("PREDECL_HEAP")
#undef PREDECL_HEAP
#define PREDECL_HEAP(prefix) \
    struct prefix##_head { \
        struct tw wheel; \
        struct tw_walk walk; \
        tw_tick earliest;     /* no timer is due before this tick; 0: not known */ \
        struct thread *first; /* a timer that is due then; null: not known, or too many to look through */ \
        struct thread *taken; /* off the wheel, for the next pop */ \
    }; \
    struct prefix##_item { \
        struct tw_node node; \
    }
#include "thread_original.h"
#pragma pop_macro("PREDECL_HEAP")

#endif
