// The heap behind failing_heap.hpp.
#include "failing_heap.hpp"

#include <cstddef>
#include <cstdlib>
#include <new>

thread_local int until_failure = -1;

namespace {

void *allocate(std::size_t size, std::size_t alignment) {
    if (until_failure == 0)
        throw std::bad_alloc();
    if (until_failure > 0)
        --until_failure;
    void *const memory = std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
    return memory != nullptr ? memory : throw std::bad_alloc();
}

}  // namespace

void *operator new(std::size_t size) { return allocate(size, alignof(std::max_align_t)); }
void *operator new(std::size_t size, std::align_val_t alignment) {
    return allocate(size, static_cast<std::size_t>(alignment));
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void *memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void *memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

// Otherwise a sanitizer supplies its own.
void *operator new[](std::size_t size) { return operator new(size); }
void *operator new[](std::size_t size, std::align_val_t alignment) { return operator new(size, alignment); }
void operator delete[](void *memory) noexcept { std::free(memory); }
void operator delete[](void *memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void *memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void *memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
