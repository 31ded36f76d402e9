// Size against speed. A build for size (-Os) has one copy of what several functions share, and inlines
// what is hardly larger than a call. A build for speed inlines arming into each function that arms.
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
