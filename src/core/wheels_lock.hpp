// The lock of the wheels that a function works on, for the contracts that clang checks.
//
// It says that a lock is held, and not which one: wheels may share a lock or have none, and records stand
// under the lock of their wheels. Only declared, as contracts alone name it.
#pragma once

#include "base/thread_safety.hpp"

namespace tickwheel::core {

struct TW_CAPABILITY("lock") lock_role {};
extern const lock_role wheels_lock;

// Tells clang, where it cannot see, that the lock is held, or that no lock is needed.
inline void assume_locked() TW_ASSUME(wheels_lock) {}

}  // namespace tickwheel::core
