// Where size counts: one copy of what several functions do, but not of what is hardly more
// than the call. Elsewhere arming, the hot half of it, is part of each function that arms.
#pragma once

#ifdef __OPTIMIZE_SIZE__
#define TW_ONE_COPY __attribute__((noinline))
#define TW_INLINE_IF_FAST TW_ONE_COPY
#define TW_INLINE_IF_SMALL __attribute__((always_inline))
#else
#define TW_ONE_COPY
#define TW_INLINE_IF_FAST __attribute__((always_inline)) inline
#define TW_INLINE_IF_SMALL
#endif
