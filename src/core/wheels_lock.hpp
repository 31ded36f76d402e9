// The lock of the wheels that a function works on, for the contracts that clang checks.
//
// It says that a lock is held, but not which one: wheels may share a lock or have none, and the lock of their
// wheels guards records. Only declared, because only contracts name it.
#pragma once

#include "base/thread_safety.hpp"

namespace tickwheel::core {

struct TW_CAPABILITY("lock") lock_role {};
extern const lock_role wheels_lock;

// Tells clang what it cannot see: the lock is held, or none is needed.
inline void assume_locked() TW_ASSUME(wheels_lock) {}

}  // namespace tickwheel::core
