// The yardstick for handle.h: the data structure of this library's records without the rest of the library.
// Records in one array, slots of three levels as logs of entries, a spinlock around each call; no bound on a
// step, no check of a handle but its generation, no other thread to wake. Only for life and churn.
#include <atomic>
#include <cstring>

#include "handle.h"

namespace {

constexpr std::size_t most = 1 << 21;  // records
constexpr std::uint32_t none = UINT32_MAX;

struct Entry {
    std::uint64_t due;
    std::uint32_t record, generation;
};

struct Chunk {
    static constexpr unsigned size = 31;
    Chunk *next;
    std::uint64_t count;
    Entry entries[size];
};

struct Log {
    Chunk *head = nullptr, *tail = nullptr;
};

struct alignas(64) Record {
    std::uint64_t due;
    void (*call)(std::uint64_t *);
    std::uint64_t *argument;
    std::uint32_t generation;  // odd while pending
    std::uint32_t next_free;
};

class Spinlock {
  public:
    void lock() {
        while (word_.exchange(1, std::memory_order_acquire) != 0) {
        }
    }
    void unlock() { word_.store(0, std::memory_order_release); }

  private:
    std::atomic<std::uint32_t> word_{0};
};

class Logs {
  public:
    using Timer = std::uint64_t;

    explicit Logs(tw_runtime *) : records_(bench::fresh_array<Record>(most)) {}

    void init(Timer &handle) { handle = 0; }

    void start(Timer &handle, std::int64_t delay_ns) {
        lock_.lock();
        const std::uint32_t i = free_ != none ? free_ : used_++;
        Record &record = records_[i];
        if (free_ != none)
            free_ = record.next_free;
        record.due = now_ + static_cast<std::uint64_t>(delay_ns) / bench::millisecond;
        record.call = [](std::uint64_t *fired) { ++*fired; };
        record.argument = &fired_;
        ++record.generation;
        append(slot_of(record.due), {record.due, i, record.generation});
        ++entries_;
        ++pending_;
        handle = std::uint64_t{record.generation} << 32 | i;
        lock_.unlock();
    }

    void stop(Timer &handle) {
        lock_.lock();
        const auto i = static_cast<std::uint32_t>(handle);
        bench::require(records_[i].generation == handle >> 32, "no such timer");
        release(i);
        if (entries_ > 2 * pending_ + 65536)
            drop_stale();
        lock_.unlock();
    }

    void move(Timer &handle, std::int64_t delay_ns) {
        stop(handle);
        start(handle, delay_ns);
    }

    // One millisecond.
    void tick() {
        lock_.lock();
        ++now_;
        if (now_ % 256 == 0 && now_ % 65536 == 0)
            lower(slots_[1024 + (now_ >> 16) % 256]);
        if (now_ % 256 == 0)
            lower(slots_[512 + (now_ >> 8) % 512]);
        fetch(slots_[(now_ + 6) % 512]);
        fire(slots_[now_ % 512]);
        lock_.unlock();
    }

    std::uint64_t fired() const { return fired_; }

  private:
    Log &slot_of(std::uint64_t due) {
        const std::uint64_t differs = due ^ now_;
        return slots_[differs < 256     ? due % 512
                      : differs < 65536 ? 512 + (due >> 8) % 512
                                        : 1024 + (due >> 16) % 256];
    }

    void append(Log &to, const Entry &entry) {
        if (to.tail == nullptr || to.tail->count == Chunk::size) {
            Chunk *const fresh = take_chunk();
            (to.tail == nullptr ? to.head : to.tail->next) = fresh;
            to.tail = fresh;
        }
        to.tail->entries[to.tail->count++] = entry;
    }

    Chunk *take_chunk() {
        if (free_chunks_ == nullptr) {
            constexpr std::size_t block = 64;
            auto *const chunks = static_cast<Chunk *>(std::calloc(block, sizeof(Chunk)));
            for (std::size_t i = 0; i < block; ++i)
                give_back(&chunks[i]);
        }
        Chunk *const taken = free_chunks_;
        free_chunks_ = taken->next;
        taken->next = nullptr;
        taken->count = 0;
        return taken;
    }
    void give_back(Chunk *chunk) {
        chunk->next = free_chunks_;
        free_chunks_ = chunk;
    }

    void release(std::uint32_t i) {
        ++records_[i].generation;
        records_[i].next_free = free_;
        free_ = i;
        --pending_;
    }

    // Empties a log and calls each(entry) for its entries. Prefetches the record eight entries ahead.
    template <class Each> void take_all(Log &from, Each each) {
        const Log all = from;
        from = {};
        for (Chunk *chunk = all.head; chunk != nullptr;) {
            for (unsigned i = 0; i < chunk->count; ++i) {
                if (i + 8 < chunk->count)
                    __builtin_prefetch(&records_[chunk->entries[i + 8].record]);
                each(chunk->entries[i]);
            }
            Chunk *const next = chunk->next;
            give_back(chunk);
            chunk = next;
        }
    }

    void lower(Log &from) {
        take_all(from, [this](const Entry &entry) { append(slot_of(entry.due), entry); });
    }

    void fetch(const Log &of) {
        for (unsigned i = 0; of.head != nullptr && i < of.head->count && i < 8; ++i)
            __builtin_prefetch(&records_[of.head->entries[i].record]);
    }

    void fire(Log &due) {
        take_all(due, [this](const Entry &entry) {
            --entries_;
            const Record &record = records_[entry.record];
            if (record.generation != entry.generation)
                return;
            void (*const call)(std::uint64_t *) = record.call;
            std::uint64_t *const argument = record.argument;
            release(entry.record);
            lock_.unlock();
            call(argument);
            lock_.lock();
        });
    }

    void drop_stale() {
        for (Log &slot : slots_) {
            Log kept;
            take_all(slot, [&](const Entry &entry) {
                if (records_[entry.record].generation == entry.generation)
                    append(kept, entry);
                else
                    --entries_;
            });
            slot = kept;
        }
    }

    Spinlock lock_;
    std::uint64_t now_ = 0;
    Log slots_[512 + 512 + 256];
    Chunk *free_chunks_ = nullptr;
    Record *records_;
    std::uint32_t free_ = none, used_ = 0;
    std::size_t entries_ = 0, pending_ = 0;
    std::uint64_t fired_ = 0;
};

const bench::Module module{"this tree", "a yardstick: records in logs behind a lock, and nothing else", false,
                           bench::run_handle<Logs>};

}  // namespace

const bench::Module *bench::tickwheel_bench_module() { return &module; }
