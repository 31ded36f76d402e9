/* The functions that a library is built without, as ones that end the program. A call of them would not link,
 * and tests contain calls that they know not to make: if (TW_CLEAR) ... So this file does not see their true
 * types. See feature_library. */
#include <tickwheel/config.h>

#define LEFT_OUT(name) \
    void name(void); \
    void name(void) { __builtin_trap(); }

#if !TW_WINDOWS
LEFT_OUT(tw_arm_within)
LEFT_OUT(tw_choose)
#endif
#if !TW_PERIODIC
LEFT_OUT(tw_arm_every)
#endif
#if !TW_OVERRUNS
LEFT_OUT(tw_overruns)
#endif
#if !TW_BUDGET
LEFT_OUT(tw_interrupt)
#endif
#if !TW_CLEAR
LEFT_OUT(tw_clear)
#endif

typedef int left_out_is_empty; /* an empty translation unit is not valid C */
