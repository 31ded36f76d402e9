// Baseline of our own, which many programs use: a std::multimap behind a mutex, and a thread that
// waits on a condition variable.
#include <condition_variable>
#include <map>
#include <mutex>

#include "../threads.h"

namespace {

struct Timer;
using Map = std::multimap<std::int64_t, Timer *>;

struct Timer {
    Map::iterator place;
    bool pending = false;
};

class Multimap {
  public:
    explicit Multimap(std::size_t n) : timers_(n) {}
    ~Multimap() {
        {
            const std::lock_guard hold(mutex_);
            over_ = true;
        }
        changed_.notify_one();
        thread_.join();
    }
    Multimap(const Multimap &) = delete;
    Multimap &operator=(const Multimap &) = delete;

    // Reuses the map's node instead of freeing it. Wakes the thread if the thread would sleep too long.
    void arm(std::uint32_t i, std::int64_t delay_ns) {
        const std::int64_t deadline = bench::monotonic_ns() + delay_ns;
        std::unique_lock hold(mutex_);
        place(timers_[i], deadline);
        const bool earlier = deadline < asleep_until_;
        if (earlier)
            asleep_until_ = deadline;  // a second notification would be redundant
        hold.unlock();
        if (earlier)
            changed_.notify_one();
    }
    void cancel(std::uint32_t i) {
        const std::lock_guard hold(mutex_);
        if (timers_[i].pending)
            map_.erase(timers_[i].place);
        timers_[i].pending = false;
    }
    std::uint64_t fired() const { return fired_; }

  private:
    void place(Timer &timer, std::int64_t deadline) {
        if (timer.pending) {
            auto handle = map_.extract(timer.place);
            handle.key() = deadline;
            timer.place = map_.insert(std::move(handle));
        } else {
            timer.place = map_.emplace(deadline, &timer);
            timer.pending = true;
        }
    }

    void fire() {
        std::unique_lock hold(mutex_);
        while (!over_) {
            if (map_.empty() || map_.begin()->first > bench::monotonic_ns()) {
                wait(hold);
                continue;
            }
            map_.begin()->second->pending = false;
            map_.erase(map_.begin());
            hold.unlock();
            ++fired_;  // the callback
            hold.lock();
        }
    }

    void wait(std::unique_lock<std::mutex> &hold) {
        asleep_until_ = map_.empty() ? INT64_MAX : map_.begin()->first;
        if (map_.empty())
            changed_.wait(hold);
        else
            changed_.wait_until(hold,
                                bench::steady_clock::time_point(std::chrono::nanoseconds(asleep_until_)));
        asleep_until_ = 0;
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    Map map_;
    std::vector<Timer> timers_;
    std::int64_t asleep_until_ =
        0;  // no deadline is earlier, so no arming notifies the thread while it is awake
    bool over_ = false;
    std::atomic<std::uint64_t> fired_{0};
    std::thread thread_{&Multimap::fire, this};
};

const bench::Module module{"own baseline", "mutex, condition variable", false, bench::run_threads<Multimap>};

}  // namespace

const bench::Module *bench::tickwheel_bench_module() { return &module; }
