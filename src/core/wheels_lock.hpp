// The lock of the wheels that a function works on, for the contracts that clang checks.
//
// A contract with `wheels_lock` says that a lock is held, but not which one: wheels may share a lock or have
// none, and records are guarded by the lock of their wheels. The variable is only declared, because no code
// uses it.
#pragma once

#include "base/thread_safety.hpp"

namespace tickwheel::core {

struct TW_CAPABILITY("lock") lock_role {};
extern const lock_role wheels_lock;

// Tells clang what it cannot see: the lock is held, or none is needed.
inline void assume_locked() TW_ASSUME(wheels_lock) {}

}  // namespace tickwheel::core
