// Draws the sequences from fixed seeds, and maps memory in huge pages; see inputs.h.
#include "inputs.h"

#include <sys/mman.h>

#include <cstring>
#include <numeric>

#include "module.h"

namespace bench {

namespace {

std::vector<std::uint32_t> stream(Random &random, std::size_t length, std::uint32_t first,
                                  std::uint32_t count) {
    std::vector<std::uint32_t> numbers(length);
    for (std::uint32_t &number : numbers)
        number = first + random.below(count);
    return numbers;
}

constexpr std::size_t huge_page = 2u << 20;

std::size_t in_huge_pages(std::size_t bytes) { return (bytes + huge_page - 1) & ~(huge_page - 1); }

}  // namespace

Inputs::Inputs(std::size_t n) {
    Random random(n);
    deadlines = stream(random, n, 1, horizon);
    order.resize(n);
    std::iota(order.begin(), order.end(), 0u);
    random.shuffle(order);
    victims = stream(random, stream_length, 0, static_cast<std::uint32_t>(n));
    ticks = stream(random, stream_length, 1, horizon);
}

void *fresh_memory(std::size_t bytes) {
    bytes = in_huge_pages(bytes);
    void *mapped =
        mmap(nullptr, bytes + huge_page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    require(mapped != MAP_FAILED, "out of memory");
    const auto address = reinterpret_cast<std::uintptr_t>(mapped);
    void *aligned = reinterpret_cast<void *>((address + huge_page - 1) & ~(huge_page - 1));
    madvise(aligned, bytes, MADV_HUGEPAGE);
    std::memset(aligned, 0, bytes);
    return aligned;
}

// Unmaps the aligned part. The remainder around it was never touched, so it costs nothing.
void give_back(void *memory, std::size_t bytes) { munmap(memory, in_huge_pages(bytes)); }

}  // namespace bench
