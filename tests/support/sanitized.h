/* SANITIZED and EMULATED are true under a sanitizer and under an emulator. With either, or without
 * optimisation, SLOW is true: the program takes about ten times as long. */
#ifndef TICKWHEEL_TESTS_SUPPORT_SANITIZED_H
#define TICKWHEEL_TESTS_SUPPORT_SANITIZED_H

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

#ifdef TW_EMULATED
#define EMULATED 1
#else
#define EMULATED 0
#endif

#ifdef __OPTIMIZE__
#define SLOW (SANITIZED || EMULATED)
#else
#define SLOW 1
#endif

#endif
