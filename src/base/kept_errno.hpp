// Restores the caller's errno at the end of a scope, because calls that promise to leave errno alone take
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
