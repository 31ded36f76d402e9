// See slab.hpp.
#include "slab.hpp"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <new>

namespace tickwheel::runtime {

namespace {

slab *allocate(std::size_t bytes, std::size_t alignment) {
    void *memory = nullptr;
    bytes = (bytes + alignof(slab) - 1) / alignof(slab) * alignof(slab);
    if (posix_memalign(&memory, alignment, bytes + sizeof(slab)) != 0)
        return nullptr;
    char *const begin = static_cast<char *>(memory);
    return new (begin + bytes) slab{nullptr, begin};
}

}  // namespace

slab *allocate_slab(std::size_t bytes) { return allocate(bytes, alignof(slab)); }

slab *allocate_cells(std::size_t bytes) {
    const bool is_huge = bytes >= huge_page;
    slab *const made = allocate(bytes, is_huge ? huge_page : alignof(slab));
    if (made == nullptr)
        return nullptr;
    if (is_huge)
        madvise(made->begin, bytes, MADV_HUGEPAGE);  // only advice: an error does no harm
    std::memset(made->begin, 0, bytes);
    return made;
}

void free_slab(slab *it) {
    if (it != nullptr)
        std::free(it->begin);
}

void free_slabs(slab *first) {
    while (first != nullptr) {
        slab *const next = first->next;
        free_slab(first);
        first = next;
    }
}

}  // namespace tickwheel::runtime
