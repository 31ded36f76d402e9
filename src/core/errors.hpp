// The errno values that the API returns, written out because <errno.h> is not a freestanding header. They are
// the same on every supported platform; unit tests check that.
#pragma once

namespace tickwheel::core {

inline constexpr int eperm = 1;
inline constexpr int enoent = 2;
inline constexpr int ebusy = 16;
inline constexpr int einval = 22;
inline constexpr int erange = 34;

}  // namespace tickwheel::core
