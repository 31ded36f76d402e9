// Baseline of our own, which many programs use: a std::unordered_map and a list by last use
// behind a mutex, and a thread that removes expired elements ten times a second. Built twice: one build scans
// every element, the other keeps a std::multimap by deadline.
#include <condition_variable>
#include <list>
#include <map>
#include <mutex>
#include <unordered_map>

#include "ttl.h"

namespace {

using Deadline = bench::steady_clock::time_point;

class Map {
  public:
    explicit Map(std::size_t bound) : bound_(bound) {}
    ~Map() {
        {
            const std::lock_guard hold(mutex_);
            over_ = true;
        }
        changed_.notify_one();
        sweeper_.join();
    }
    Map(const Map &) = delete;
    Map &operator=(const Map &) = delete;

    void set(const bench::Name &name, const bench::Value &value, std::chrono::nanoseconds ttl) {
        const Deadline deadline = bench::steady_clock::now() + ttl;
        const std::lock_guard hold(mutex_);
        const auto [entry, is_new] = entries_.try_emplace(name);
        if (is_new)
            entry->second.use = uses_.insert(uses_.begin(), entry);
        else
            unplan(entry);
        entry->second.value = value;
        entry->second.deadline = deadline;
        if constexpr (!BENCH_SCAN)
            entry->second.end = ends_.emplace(deadline, entry);
        uses_.splice(uses_.begin(), uses_, entry->second.use);
        if (entries_.size() > bound_)
            remove(uses_.back());
    }

    std::optional<bench::Value> get(const bench::Name &name) {
        const std::lock_guard hold(mutex_);
        const auto entry = entries_.find(name);
        if (entry == entries_.end() || entry->second.deadline <= bench::steady_clock::now())
            return std::nullopt;
        uses_.splice(uses_.begin(), uses_, entry->second.use);
        return entry->second.value;
    }

    std::size_t size() const {
        const std::lock_guard hold(mutex_);
        return entries_.size();
    }

  private:
    struct Entry;
    using Entries = std::unordered_map<bench::Name, Entry>;
    using Place = Entries::iterator;
    using Ends = std::multimap<Deadline, Place>;
    struct Entry {
        bench::Value value;
        Deadline deadline;
        std::list<Place>::iterator use;
        Ends::iterator end;  // only if it does not scan
    };

    void unplan(Place entry) {
        if constexpr (!BENCH_SCAN)
            ends_.erase(entry->second.end);
    }
    Place remove(Place entry) {
        unplan(entry);
        uses_.erase(entry->second.use);
        return entries_.erase(entry);
    }

    void sweep(Deadline now) {
        if constexpr (BENCH_SCAN) {
            for (Place each = entries_.begin(); each != entries_.end();)
                each = each->second.deadline <= now ? remove(each) : std::next(each);
        } else {
            while (!ends_.empty() && ends_.begin()->first <= now)
                remove(ends_.begin()->second);
        }
    }
    void go_on_sweeping() {
        std::unique_lock hold(mutex_);
        while (!changed_.wait_for(hold, std::chrono::milliseconds(100), [this] { return over_; }))
            sweep(bench::steady_clock::now());
    }

    const std::size_t bound_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    bool over_ = false;
    Entries entries_;
    std::list<Place> uses_;  // most recently used first
    Ends ends_;
    std::thread sweeper_{&Map::go_on_sweeping, this};
};

const bench::Module module{"own baseline",
                           BENCH_SCAN ? "mutex, unordered_map, list; all of it looked at 10 times a second"
                                      : "mutex, unordered_map, list; multimap by deadline, 10 times a second",
                           false, bench::run_ttl<Map>};

}  // namespace

const bench::Module *bench::tickwheel_bench_module() { return &module; }
