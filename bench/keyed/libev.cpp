// keyed.h as one would write it without this library: a std::unordered_map of libev's timers.
// Single-threaded, and it does not read the clock at each call.
#include <ev.h>

#include <string>
#include <unordered_map>

#include "keyed.h"

namespace {

class Keyed {
  public:
    Keyed() : loop_(ev_loop_new(EVFLAG_AUTO)) { bench::require(loop_, "ev_loop_new"); }
    ~Keyed() { ev_loop_destroy(loop_); }
    Keyed(const Keyed &) = delete;
    Keyed &operator=(const Keyed &) = delete;

    void set(const bench::Key &key, std::int64_t delay_ns) {
        ev_timer &timer = timers_[key];
        ev_timer_init(
            &timer, [](struct ev_loop *, ev_timer *, int) {}, seconds(delay_ns), 0.);
        ev_timer_start(loop_, &timer);
    }
    void move(const bench::Key &key, std::int64_t delay_ns) {
        ev_timer &timer = timers_.find(key)->second;
        timer.repeat = seconds(delay_ns);
        ev_timer_again(loop_, &timer);
    }
    void remove(const bench::Key &key) {
        const auto found = timers_.find(key);
        ev_timer_stop(loop_, &found->second);
        timers_.erase(found);
    }
    std::size_t count() const { return timers_.size(); }

  private:
    static ev_tstamp seconds(std::int64_t ns) { return static_cast<double>(ns) * 1e-9; }

    struct ev_loop *loop_;
    std::unordered_map<bench::Key, ev_timer, bench::KeyHash> timers_;
};

const std::string version = std::to_string(ev_version_major()) + "." + std::to_string(ev_version_minor());
const bench::Module module{version.c_str(), "std::unordered_map of ev_timer, ev_timer_again", false,
                           bench::run_keyed<Keyed>};

}  // namespace

const bench::Module *bench::tickwheel_bench_module() { return &module; }
