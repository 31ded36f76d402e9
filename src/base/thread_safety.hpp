// Lock contracts, which clang checks: ./dev lint compiles with -Wthread-safety. For other compilers they are
// empty. Each follows the declaration that it applies to.
//
//   TW_GUARDED_BY(lock)    a field: read and written with the lock held
//   TW_REQUIRES(lock)      a function: called with the lock held
//   TW_YIELDS(lock)        the same, but the function may release the lock for a while; clang
//                          sees no difference
//   TW_ACQUIRE(lock)       returns with the lock held
//   TW_TRY_ACQUIRE(r, lock)  returns with the lock held if the result, as a bool, is r
//   TW_RELEASE(lock)       called with the lock held, and returns without it
//   TW_ASSUME(lock)        the caller knows, for a reason that clang cannot see, that the lock is
//                          held
//   TW_UNCHECKED_LOCKING   clang does not check the body of this function; the reason is next to it
//
// TW_CAPABILITY(name) marks a class as a lock, and TW_SCOPED_CAPABILITY as a guard that holds a lock for a
// scope.
#pragma once

#ifdef __clang__
#define TW_OF_LOCKS(attribute) __attribute__((attribute))
#else
#define TW_OF_LOCKS(attribute)
#endif

#define TW_CAPABILITY(name) TW_OF_LOCKS(capability(name))
#define TW_SCOPED_CAPABILITY TW_OF_LOCKS(scoped_lockable)
#define TW_GUARDED_BY(lock) TW_OF_LOCKS(guarded_by(lock))
#define TW_REQUIRES(...) TW_OF_LOCKS(requires_capability(__VA_ARGS__))
#define TW_YIELDS(...) TW_REQUIRES(__VA_ARGS__)
#define TW_ACQUIRE(...) TW_OF_LOCKS(acquire_capability(__VA_ARGS__))
#define TW_TRY_ACQUIRE(...) TW_OF_LOCKS(try_acquire_capability(__VA_ARGS__))
#define TW_RELEASE(...) TW_OF_LOCKS(release_capability(__VA_ARGS__))
#define TW_ASSUME(lock) TW_OF_LOCKS(assert_capability(lock))
#define TW_UNCHECKED_LOCKING TW_OF_LOCKS(no_thread_safety_analysis)
