/* Wraps the allocating and freeing calls of the C library, and counts them. */
#include "counted_heap.h"

#include <stdint.h>
#include <sys/types.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
int __real_posix_memalign(void **out, size_t alignment, size_t size);
void __real_free(void *memory);
void *__real_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset);
void *__real_mmap64(void *at, size_t size, int protection, int flags, int fd, int64_t offset);
void *__real_sbrk(intptr_t increment);

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
int __wrap_posix_memalign(void **out, size_t alignment, size_t size);
void __wrap_free(void *memory);
void *__wrap_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap64(void *at, size_t size, int protection, int flags, int fd, int64_t offset);
void *__wrap_sbrk(intptr_t increment);

volatile unsigned allocations;

void *__wrap_malloc(size_t size) {
    ++allocations;
    return __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size) {
    ++allocations;
    return __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size) {
    ++allocations;
    return __real_realloc(old, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size) {
    ++allocations;
    return __real_aligned_alloc(alignment, size);
}

int __wrap_posix_memalign(void **out, size_t alignment, size_t size) {
    ++allocations;
    return __real_posix_memalign(out, alignment, size);
}

void __wrap_free(void *memory) {
    ++allocations;
    __real_free(memory);
}

void *__wrap_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset) {
    ++allocations;
    return __real_mmap(at, size, protection, flags, fd, offset);
}

/* The name of mmap in programs with 64-bit offsets. */
void *__wrap_mmap64(void *at, size_t size, int protection, int flags, int fd, int64_t offset) {
    ++allocations;
    return __real_mmap64(at, size, protection, flags, fd, offset);
}

void *__wrap_sbrk(intptr_t increment) {
    ++allocations;
    return __real_sbrk(increment);
}
