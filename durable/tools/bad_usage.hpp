// The exception for a wrong command line. Its text is for the user.
#pragma once

#include <stdexcept>

namespace tickwheel::jobs {

class bad_usage : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

}  // namespace tickwheel::jobs
