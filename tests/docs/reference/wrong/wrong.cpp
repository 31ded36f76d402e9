// The code of wrong.h.
#include <cerrno>

static int helper(int how) { return how == -EPERM ? 0 : -ENOMEM; }

TW_API int tw_may_fail(tw *w) { return w == nullptr ? -EINVAL : helper(1); }

TW_API int tw_never_busy(tw *w) { return w == nullptr ? -EINVAL : 0; }
