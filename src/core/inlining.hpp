// Size or speed. A build for size (-Os) has one copy of the code that several functions share, and inlines
// code that is hardly larger than a call. A build for speed inlines arming into each function that arms, and
// keeps rare code out of line where it would cost the common path registers. Without optimisation nothing is
// inlined, because coverage would count each copy separately.
#pragma once

#include <tickwheel/tw.h>

#ifndef __OPTIMIZE__
#define TW_ONE_COPY
#define TW_INLINE_IF_FAST
#define TW_INLINE_IF_SMALL
#define TW_INLINE_ALWAYS
#define TW_APART_IF_FAST
#elif defined(__OPTIMIZE_SIZE__)
#define TW_ONE_COPY __attribute__((noinline))
#define TW_INLINE_IF_FAST TW_ONE_COPY
#define TW_INLINE_IF_SMALL __attribute__((always_inline))
#define TW_INLINE_ALWAYS __attribute__((always_inline))
#define TW_APART_IF_FAST
#else
#define TW_ONE_COPY
#define TW_INLINE_IF_FAST __attribute__((always_inline)) inline
#define TW_INLINE_IF_SMALL
#define TW_INLINE_ALWAYS __attribute__((always_inline))
#define TW_APART_IF_FAST __attribute__((noinline))
#endif

namespace tickwheel::core {

// True where code may grow in order to be faster: with the engine of slots, on 64-bit processors, unless the
// build is for size.
#if defined(__OPTIMIZE_SIZE__) || TW_TREE
inline constexpr bool has_room = false;
#else
inline constexpr bool has_room = sizeof(void *) == 8;
#endif

constexpr bool unlikely(bool condition) { return __builtin_expect(condition, false) != 0; }

}  // namespace tickwheel::core

// TW_INLINE_IF_FAST for code that only builds with the runtime have: in a build for size the compiler
// decides.
#if defined(__OPTIMIZE__) && !defined(__OPTIMIZE_SIZE__)
#define TW_INLINED __attribute__((always_inline))
#else
#define TW_INLINED
#endif
