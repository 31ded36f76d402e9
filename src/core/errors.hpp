// The errno values that the API answers with. Written out as <errno.h> is no
// freestanding header; these five are the same on every platform that
// this is built for, which the unit tests check.
#pragma once

namespace tickwheel::core {

inline constexpr int eperm = 1;
inline constexpr int enoent = 2;
inline constexpr int ebusy = 16;
inline constexpr int einval = 22;
inline constexpr int erange = 34;

}  // namespace tickwheel::core
