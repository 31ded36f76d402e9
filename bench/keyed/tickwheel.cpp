// keyed.h with this library's keyed timers.
#include <tickwheel/keyed.h>

#include "../sleeping_runtime.h"
#include "keyed.h"

namespace {

class Keyed {
  public:
    Keyed() { bench::require(tw_keyed_new(&keyed_, runtime_, nullptr) == 0, "tw_keyed_new"); }

    void set(const bench::Key &key, std::int64_t delay_ns) {
        const int result = tw_keyed_after(
            keyed_, named(key), delay_ns, [](const tw_event *, void *) {}, nullptr);
        bench::require(result >= 0, "tw_keyed_after");
    }
    void move(const bench::Key &key, std::int64_t delay_ns) { tw_keyed_move(keyed_, named(key), delay_ns); }
    void remove(const bench::Key &key) {
        bench::require(tw_keyed_cancel(keyed_, named(key)) == 1, "tw_keyed_cancel");
    }
    std::size_t count() const { return tw_keyed_count(keyed_); }

  private:
    static tw_key named(const bench::Key &key) { return tw_key_bytes(key.bytes, sizeof key.bytes); }

    bench::SleepingRuntime runtime_;
    tw_keyed *keyed_ = nullptr;  // freed with the runtime
};

const bench::Module module{"this tree", "tw_keyed_after, _move, _remove", false, bench::run_keyed<Keyed>};

}  // namespace

const bench::Module *bench::tickwheel_bench_module() { return &module; }
