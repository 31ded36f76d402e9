// See slab.hpp.
#include "slab.hpp"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

// LeakSanitizer does not scan mapped memory, and cells hold the user's pointers. So each mapping is
// registered with the sanitizer, if the program has it.
extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp)
[[gnu::weak]] void __lsan_register_root_region(const void *begin, std::size_t size);
[[gnu::weak]] void __lsan_unregister_root_region(const void *begin, std::size_t size);
// NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp)
}

namespace tickwheel::timers {

namespace {

constexpr std::size_t small_page = 4096;

constexpr std::size_t round_up(std::size_t bytes, std::size_t unit) {
    return (bytes + unit - 1) / unit * unit;
}

// Maps `bytes`, a multiple of huge_page, aligned to huge_page. Returns null if memory runs out.
char *map_huge_pages(std::size_t bytes) {
    void *const found =
        mmap(nullptr, bytes + huge_page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (found == MAP_FAILED)
        return nullptr;
    char *const all = static_cast<char *>(found);
    const std::size_t before = -reinterpret_cast<std::uintptr_t>(all) % huge_page;
    if (before != 0)
        munmap(all, before);
    munmap(all + before + bytes, huge_page - before);
    madvise(all + before, bytes, MADV_HUGEPAGE);  // only advice: an error does no harm
    if (__lsan_register_root_region != nullptr)
        __lsan_register_root_region(all + before, bytes);
    return all + before;
}

// Puts the slab at the end of `memory`, which has `bytes` bytes and may be null.
slab *make_slab(void *memory, std::size_t bytes, std::size_t mapped) {
    char *const begin = static_cast<char *>(memory);
    return memory != nullptr ? new (begin + bytes - sizeof(slab)) slab{nullptr, begin, mapped} : nullptr;
}

}  // namespace

namespace {

slab *allocate(std::size_t bytes, bool in_small_pages) {
    const std::size_t whole = round_up(bytes, alignof(slab)) + sizeof(slab);
    void *memory;
    if (posix_memalign(&memory, in_small_pages ? small_page : alignof(slab), whole) != 0)
        return nullptr;
    if (in_small_pages)
        madvise(memory, whole, MADV_NOHUGEPAGE);  // only advice, too
    return make_slab(memory, whole, 0);
}

}  // namespace

slab *allocate_slab(std::size_t bytes) { return allocate(bytes, false); }
slab *allocate_chunks(std::size_t bytes) { return allocate(bytes, bytes >= huge_page); }

// Maps cells that get huge pages. An aligned block of the heap would leave a gap of up to 2 MB before it, and
// the kernel might back that gap with another huge page as soon as the heap writes there.
slab *allocate_cells(std::size_t bytes) {
    const std::size_t whole = round_up(bytes + sizeof(slab), huge_page);
    const bool is_huge = whole - bytes <= bytes / 8;  // rounding up wastes an eighth at most
    slab *const made = is_huge ? make_slab(map_huge_pages(whole), whole, whole) : allocate_slab(bytes);
    if (made != nullptr)
        std::memset(made->begin, 0, bytes);
    return made;
}

void free_slab(slab *of) {
    if (of == nullptr)
        return;
    if (of->mapped == 0) {
        std::free(of->begin);
        return;
    }
    if (__lsan_unregister_root_region != nullptr)
        __lsan_unregister_root_region(of->begin, of->mapped);
    munmap(of->begin, of->mapped);
}

void free_slabs(slab *first) {
    while (first != nullptr) {
        slab *const next = first->next;
        free_slab(first);
        first = next;
    }
}

}  // namespace tickwheel::timers
