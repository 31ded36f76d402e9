/* tickwheel/must_check.h - the mark of functions whose result must not be ignored.
 *
 * Marked is a function whose result is all that it is called for, such as a query, and one that needs
 * memory, a thread or a descriptor and so can fail in a correct program. Calls that arm, move, cancel, wait
 * or stop are not marked: with valid arguments they do not fail. */
#ifndef TICKWHEEL_MUST_CHECK_H
#define TICKWHEEL_MUST_CHECK_H

/* Before the declaration of a function: the compiler warns where its result is ignored. */
#if defined(__cplusplus) && __cplusplus >= 201703L
#define TW_MUST_CHECK [[nodiscard]]
#elif defined(__GNUC__)
#define TW_MUST_CHECK __attribute__((warn_unused_result))
#else
#define TW_MUST_CHECK
#endif

#endif
