// Baseline of our own: a well-tuned 4-ary heap. Each element carries its tick, and the four
// children of an element share a cache line.
#include <cstring>

#include "../workloads.h"

namespace {

struct Timer {
    std::uint64_t period;
    void (*fn)(void *);
    void *arg;
    std::uint32_t place;  // index in the heap; 0: idle
};

class Heap {
  public:
    struct Entry {
        std::uint64_t tick;
        Timer *timer;
    };

    Heap() = default;
    Heap(const Heap &) = delete;
    Heap &operator=(const Heap &) = delete;
    ~Heap() { std::free(entries_); }

    bool empty() const { return end_ == root; }
    const Entry &top() const { return entries_[root]; }

    void add(Entry entry) {
        if (end_ >= capacity_)
            grow();
        sift_up(end_++, entry);
    }

    void remove(Timer *timer) {
        const std::uint32_t hole = timer->place;
        const Entry last = entries_[--end_];
        timer->place = 0;
        if (hole != end_)
            settle(hole, last);
    }

    void move(Entry entry) { settle(entry.timer->place, entry); }
    void sink(Entry entry) { sift_down(entry.timer->place, entry); }

  private:
    // Element k has the children 4 (k - 2) .. 4 (k - 2) + 3, so four siblings start at a multiple
    // of 4.
    static constexpr std::uint32_t root = 3;
    static constexpr std::uint32_t parent(std::uint32_t k) { return k / 4 + 2; }
    static constexpr std::uint32_t first_child(std::uint32_t k) { return 4 * (k - 2); }

    void put(std::uint32_t k, Entry entry) {
        entries_[k] = entry;
        entry.timer->place = k;
    }

    void settle(std::uint32_t k, Entry entry) {
        if (k != root && entry.tick < entries_[parent(k)].tick)
            sift_up(k, entry);
        else
            sift_down(k, entry);
    }

    void sift_up(std::uint32_t k, Entry entry) {
        for (; k != root && entry.tick < entries_[parent(k)].tick; k = parent(k))
            put(k, entries_[parent(k)]);
        put(k, entry);
    }

    void sift_down(std::uint32_t k, Entry entry) {
        for (std::uint32_t child; (child = first_child(k)) < end_; k = child) {
            const std::uint32_t family_end = std::min(child + 4, end_);
            for (std::uint32_t sibling = child + 1; sibling < family_end; ++sibling)
                if (entries_[sibling].tick < entries_[child].tick)
                    child = sibling;
            if (entry.tick <= entries_[child].tick)
                break;
            put(k, entries_[child]);
        }
        put(k, entry);
    }

    void grow() {
        const std::uint32_t capacity = capacity_ ? 2 * capacity_ : 64;
        auto *entries = static_cast<Entry *>(std::aligned_alloc(64, capacity * sizeof(Entry)));
        bench::require(entries, "out of memory");
        if (capacity_)
            std::memcpy(entries, entries_, end_ * sizeof(Entry));
        std::free(entries_);
        entries_ = entries;
        capacity_ = capacity;
    }

    Entry *entries_ = nullptr;
    std::uint32_t end_ = root, capacity_ = 0;
};

class Heap4 {
  public:
    using Time = std::uint64_t;
    using Record = Timer;
    static constexpr bool virtual_time = true;

    Heap4(std::size_t n, bench::Scale)
        : timers_(static_cast<Timer *>(bench::fresh_memory(n * sizeof(Timer)))) {
        for (std::size_t i = 0; i < n; ++i)
            timers_[i] = {0, count, &fired_, 0};
    }

    Time time(std::uint64_t tick) const { return tick; }
    Time timeout(std::uint64_t tick) const { return tick; }
    std::uint64_t fired() const { return fired_; }

    void arm(std::uint32_t i, Time tick) { heap_.add({tick, &timers_[i]}); }
    void move(std::uint32_t i, Time tick) { heap_.move({tick, &timers_[i]}); }
    void postpone(std::uint32_t i, Time tick) { heap_.sink({tick, &timers_[i]}); }
    void cancel(std::uint32_t i) { heap_.remove(&timers_[i]); }
    void every(std::uint32_t i, std::uint32_t period) {
        timers_[i].period = period;
        arm(i, now_ + period);
    }

    void advance(Time tick) {
        now_ = tick;
        while (!heap_.empty() && heap_.top().tick <= now_) {
            const auto [due, timer] = heap_.top();
            if (timer->period)
                heap_.sink({due + timer->period, timer});
            else
                heap_.remove(timer);
            timer->fn(timer->arg);
        }
    }

    void run_tickless() {
        while (!heap_.empty())
            advance(heap_.top().tick);
    }

  private:
    static void count(void *fired) { ++*static_cast<std::uint64_t *>(fired); }

    Heap heap_;
    Timer *timers_;
    Time now_ = 0;
    std::uint64_t fired_ = 0;
};

const bench::Module module{"own baseline", "sift down", true, bench::run<Heap4>};

}  // namespace

const bench::Module *bench::tickwheel_bench_module() { return &module; }
