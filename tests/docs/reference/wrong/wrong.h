/* wrong.h - a header that must not pass: each function breaks one of the rules of comment_rules.py.
 *
 * Conventions
 *   Arguments  `w` is the wheel.
 *   -EINVAL      a null pointer
 */
int tw_silent(struct tw *w);

/* Returns 0. */
int tw_of_what(struct tw *w, int amount);

/* Counts something. */
int tw_how_many(struct tw *w);

/* Returns as tw_other does; results as tw_other. */
int tw_as_another(struct tw *w);

/* Returns 0. */
int tw_may_fail(struct tw *w);

/* Returns 0.
 *   -EBUSY  never */
int tw_never_busy(struct tw *w);

/* Returns 0. -EBUSY  this was a list once */
int tw_run_on(struct tw *w);
