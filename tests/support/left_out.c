/* The functions that a small library is without (TW_SMALL), as ones that end the program. A call of them
 * would not link, and tests contain calls that they know not to make: if (!TW_SMALL) ... So this file does
 * not see their true types. */
#include <tickwheel/config.h>

#define LEFT_OUT(name) \
    void name(void); \
    void name(void) { __builtin_trap(); }

#if TW_SMALL
LEFT_OUT(tw_arm_within)
LEFT_OUT(tw_choose)
LEFT_OUT(tw_overruns)
LEFT_OUT(tw_interrupt)
LEFT_OUT(tw_cancel_all)
#endif

typedef int left_out_is_empty; /* an empty translation unit is not valid C */
