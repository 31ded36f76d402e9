// Keeps the caller's errno: a driver is woken inside calls that arm, which leave errno alone.
#pragma once

#include <cerrno>

namespace tickwheel::drivers {

class kept_errno {
  public:
    kept_errno() = default;
    ~kept_errno() { errno = before_; }
    kept_errno(const kept_errno &) = delete;
    kept_errno &operator=(const kept_errno &) = delete;

  private:
    int before_ = errno;
};

}  // namespace tickwheel::drivers
