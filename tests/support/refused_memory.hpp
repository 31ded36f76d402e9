// Replaces operator new, so that a test can refuse an allocation. Only one source of a program may include
// this.
#pragma once

#include <cstdlib>
#include <new>

// After the headers of C++, because CMocka defines `fail`.
#include "support/test.h"

namespace refused_memory {

inline constexpr int never = -1;
inline int spared = never;  // this many allocations work, and the next one fails
inline bool has_refused = false;

inline void *allocate(std::size_t size) {
    if (spared >= 0 && spared-- == 0) {
        has_refused = true;
        throw std::bad_alloc();
    }
    void *const memory = std::malloc(size != 0 ? size : 1);
    if (memory == nullptr)
        std::abort();
    return memory;
}

// Repeats the call, refusing its first allocation, then its second, and so on, until none is refused. Returns
// how many were refused.
template <class Call, class Check> int refuse_each(const Call &call, const Check &check) {
    for (int which = 0;; ++which) {
        has_refused = false;
        spared = which;
        const auto result = call();
        spared = never;
        if (!has_refused) {
            assert_true(result >= 0);
            return which;
        }
        if (result < 0)
            assert_int_equal(result, -ENOMEM);
        check(result);
    }
}

}  // namespace refused_memory

void *operator new(std::size_t size) { return refused_memory::allocate(size); }
void *operator new[](std::size_t size) { return refused_memory::allocate(size); }
void *operator new(std::size_t size, const std::nothrow_t &) noexcept {
    try {
        return refused_memory::allocate(size);
    } catch (const std::bad_alloc &) {
        return nullptr;
    }
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete[](void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void *memory, std::size_t) noexcept { std::free(memory); }
