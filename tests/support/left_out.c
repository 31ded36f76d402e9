/* The functions that a small library (TW_SMALL) or one without the runtime is without, as ones that end the
 * program. A call of them would not link, and tests contain calls that they know not to make:
 * if (!TW_SMALL) ... So this file does not see their true types. */
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
