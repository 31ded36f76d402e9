#include "table.hpp"

#include <sys/mman.h>
#include <sys/random.h>

#include <bit>
#include <cassert>
#include <cerrno>

#include "uncancelled.hpp"

namespace tickwheel::runtime {

namespace {

constexpr std::uint32_t smallest = 512;  // cells: a page

// Cells that one call moves over. Growing doubles the cells as half of them are in use,
// and is over when an eighth as many entries have come: long before it is due again.
constexpr std::uint32_t cells_a_step = 8;

// What has been moved over is given back in pieces of so many cells: to unmap megabytes
// at once takes long. A multiple of cells_a_step and, in bytes, of any page.
constexpr std::uint32_t cells_given_back = 8192;

constexpr std::uint64_t numbers = 0xee;  // the domain of keys that are numbers

int draw(sip_seed &seed) {
    const uncancelled here;
    ssize_t drawn;
    do
        drawn = getrandom(&seed, sizeof seed, 0);
    while (drawn < 0 && errno == EINTR);
    return drawn < 0 ? -errno : 0;
}

}  // namespace

// Not by calloc, which clears megabytes when it finds them in the heap.
int cell_array::open(std::uint32_t size) {
    void *const pages =
        mmap(nullptr, size * sizeof(cell), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED)
        return -ENOMEM;
    cells_ = static_cast<cell *>(pages);
    mask_ = size - 1;
    return 0;
}

void cell_array::close() {
    if (cells_ != nullptr)
        munmap(cells_, size() * sizeof(cell));
    cells_ = nullptr;
}

void cell_array::insert(std::uint32_t hash, std::uint32_t slot) {
    std::uint32_t i = home(hash);
    while (cells_[i].slot_plus_1 != 0)
        i = (i + 1) & mask_;
    cells_[i] = {hash, slot + 1};
}

// Those behind it move up, but not to before the cell where their own search begins.
void cell_array::erase(std::uint32_t hole) {
    for (std::uint32_t i = (hole + 1) & mask_; cells_[i].slot_plus_1 != 0; i = (i + 1) & mask_) {
        const std::uint32_t searched = (i - cells_[i].hash) & mask_;
        if (searched >= ((i - hole) & mask_)) {
            cells_[hole] = cells_[i];
            hole = i;
        }
    }
    cells_[hole].slot_plus_1 = 0;
}

void cell_array::move_to(cell_array &other, std::uint32_t i) {
    while (cells_[i].slot_plus_1 != 0) {
        other.insert(cells_[i].hash, slot(i));
        erase(i);
    }
}

// Should the system refuse, `close` does it all.
void cell_array::give_back(std::uint32_t from, std::uint32_t to) {
    madvise(cells_ + from, (to - from) * sizeof(cell), MADV_DONTNEED);
}

int table::open(std::uint32_t capacity) {
    if (const int error = draw(seed_); error != 0)
        return error;
    grows_ = capacity == 0;
    cell_array cells;
    if (const int error = cells.open(grows_ ? smallest : std::bit_ceil(2 * capacity)); error != 0)
        return error;
    use(cells);
    return 0;
}

void table::use(const cell_array &cells) {
    cells_ = cells;
    prefetched_.store(cells.cells(), std::memory_order_relaxed);
    prefetched_mask_.store(cells.size() - 1, std::memory_order_relaxed);
}

void table::close() {
    cells_.close();
    old_.close();
}

std::uint32_t table::hash(const tw_key &key) const {
    const bool number = key.is_number != 0;
    siphash<1, 3> sip(seed_, number ? numbers : 0);
    return static_cast<std::uint32_t>(number ? sip.of(&key.number, sizeof key.number)
                                             : sip.of(key.bytes, key.size));
}

int table::reserve_one() {
    if (!grows_ || count_ < cells_.size() / 2)
        return 0;
    assert(!old_.is_open());
    cell_array larger;
    if (const int error = larger.open(2 * cells_.size()); error != 0)
        return error;
    old_ = cells_;
    old_left_ = old_.size();
    use(larger);
    return 0;
}

void table::insert(std::uint32_t hash, std::uint32_t slot) {
    assert(count_ < cells_.size() / 2 || !grows_);
    move_some();
    cells_.insert(hash, slot);
    ++count_;
}

void table::erase(std::uint32_t hash, std::uint32_t slot) {
    const auto same = [slot](std::uint32_t other) { return other == slot; };
    if (const std::uint32_t i = cells_.find(hash, same); i != none)
        cells_.erase(i);
    else
        old_.erase(old_.find(hash, same));
    --count_;
    move_some();
}

// From the last cell down: behind the one that is moved there is nothing left to fill
// its place, but where a run of entries goes on at the front of the array.
void table::move_some() {
    if (!old_.is_open())
        return;
    for (std::uint32_t i = 0; i < cells_a_step; ++i)
        old_.move_to(cells_, --old_left_);
    if (old_left_ == 0)
        old_.close();
    else if (old_left_ % cells_given_back == 0)
        old_.give_back(old_left_, old_left_ + cells_given_back);
}

}  // namespace tickwheel::runtime
