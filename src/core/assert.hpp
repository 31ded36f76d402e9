// Assertions without a C library: a broken one stops the program where it stands.
#pragma once

#ifdef NDEBUG
#define TW_ASSERT(condition) static_cast<void>(0)
#else
#define TW_ASSERT(condition) ((condition) ? static_cast<void>(0) : __builtin_trap())
#endif
