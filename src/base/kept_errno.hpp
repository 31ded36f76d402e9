// Restores the caller's errno at the end of a scope: for calls that promise not to change errno, but take
// locks and wake drivers.
#pragma once

#include <cerrno>

namespace tickwheel::base {

class kept_errno {
  public:
    kept_errno() = default;
    ~kept_errno() { errno = before_; }
    kept_errno(const kept_errno &) = delete;
    kept_errno &operator=(const kept_errno &) = delete;

  private:
    int before_ = errno;
};

}  // namespace tickwheel::base
