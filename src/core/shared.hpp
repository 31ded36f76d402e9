// Where size counts: one copy of what several functions do, but not of what is hardly more
// than the call. Elsewhere arming, the hot half of it, is part of each function that arms.
#pragma once

#ifdef __OPTIMIZE_SIZE__
#define TW_SHARED __attribute__((noinline))
#define TW_HOT TW_SHARED
#define TW_IN_PLACE __attribute__((always_inline))
#else
#define TW_SHARED
#define TW_HOT __attribute__((always_inline)) inline
#define TW_IN_PLACE
#endif
