// Baseline of our own: std::multimap, which many programs use.
#include <map>

#include "../workloads.h"

namespace {

struct Timer;
using Map = std::multimap<std::uint64_t, Timer *>;

struct Timer {
    std::uint64_t period;
    void (*fn)(void *);
    void *arg;
    Map::iterator place;
};

class Multimap {
  public:
    using Time = std::uint64_t;
    using Record = Timer;
    static constexpr bool virtual_time = true;

    Multimap(std::size_t n, bench::Scale)
        : timers_(static_cast<Timer *>(bench::fresh_memory(n * sizeof(Timer)))) {
        for (std::size_t i = 0; i < n; ++i)
            new (&timers_[i]) Timer{0, count, &fired_, {}};
    }

    Time time(std::uint64_t tick) const { return tick; }
    Time timeout(std::uint64_t tick) const { return tick; }
    std::uint64_t fired() const { return fired_; }

    void arm(std::uint32_t i, Time tick) { timers_[i].place = map_.emplace(tick, &timers_[i]); }
    void cancel(std::uint32_t i) { map_.erase(timers_[i].place); }

    // Reuses the map's node instead of freeing it, and hints at the end for a deadline later than
    // all others.
    void move(std::uint32_t i, Time tick) {
        auto handle = map_.extract(timers_[i].place);
        handle.key() = tick;
        timers_[i].place = map_.insert(std::move(handle));
    }
    void postpone(std::uint32_t i, Time tick) {
        auto handle = map_.extract(timers_[i].place);
        handle.key() = tick;
        timers_[i].place = map_.insert(map_.end(), std::move(handle));
    }
    void every(std::uint32_t i, std::uint32_t period) {
        timers_[i].period = period;
        arm(i, now_ + period);
    }

    void advance(Time tick) {
        now_ = tick;
        while (!map_.empty() && map_.begin()->first <= now_) {
            const auto [due, timer] = *map_.begin();
            if (timer->period)
                move(static_cast<std::uint32_t>(timer - timers_), due + timer->period);
            else
                map_.erase(timer->place);
            timer->fn(timer->arg);
        }
    }

    void run_tickless() {
        while (!map_.empty())
            advance(map_.begin()->first);
    }

  private:
    static void count(void *fired) { ++*static_cast<std::uint64_t *>(fired); }

    Map map_;
    Timer *timers_;
    Time now_ = 0;
    std::uint64_t fired_ = 0;
};

const bench::Module module{"own baseline", "extract, insert at the end", true, bench::run<Multimap>};

}  // namespace

const bench::Module *bench::tickwheel_bench_module() { return &module; }
