/* tickwheel/must_check.h - the mark of functions whose result must not be ignored.
 *
 * Two kinds of functions are marked: those that are called only for their result, such as queries,
 * and those that need memory, a thread or a descriptor and so can fail in a correct program. Calls
 * that arm, move, cancel, wait or stop are not marked: with valid arguments they do not fail. */
#ifndef TICKWHEEL_MUST_CHECK_H
#define TICKWHEEL_MUST_CHECK_H

/* Before the declaration of a function: the compiler warns if a caller ignores the result. */
#if defined(__cplusplus) && __cplusplus >= 201703L
#define TW_MUST_CHECK [[nodiscard]]
#elif defined(__GNUC__)
#define TW_MUST_CHECK __attribute__((warn_unused_result))
#else
#define TW_MUST_CHECK
#endif

#endif
