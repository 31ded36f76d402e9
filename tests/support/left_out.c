/* Stand-ins, which end the program, for the functions that a small library (TW_SMALL) or one without the
 * runtime leaves out. Without them, tests would not link, because they contain calls that they never make
 * there: if (!TW_SMALL) ... This file does not include tw.h, so that it may declare the functions with other
 * types. */
#include <tickwheel/config.h>

#define LEFT_OUT(name) \
    void name(void); \
    void name(void) { __builtin_trap(); }

#if TW_SMALL
LEFT_OUT(tw_arm_within)
LEFT_OUT(tw_overruns)
LEFT_OUT(tw_take)
LEFT_OUT(tw_cancel_all)
#endif
#if !TW_RUNTIME /* see core/door.h */
LEFT_OUT(tw_core_interrupt)
LEFT_OUT(tw_core_abandon)
LEFT_OUT(tw_core_fork)
#endif

typedef int left_out_is_empty; /* an empty translation unit is not valid C */
