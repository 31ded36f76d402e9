// What the firing thread pays for one order over several lanes, while no other thread makes calls.

#include "cpu.h"
#include "scaling.h"
#include "service.h"

namespace bench::scaling {

namespace {

std::vector<double> measure(Lanes lanes, double seconds) {
    Service service(lanes);
    service.fire_every_100_ms(firing_timers, Phases::spread);
    const std::uint64_t fired = service.fired();
    const std::int64_t start = monotonic_ns();
    const double cpu = cpu_ns(CLOCK_PROCESS_CPUTIME_ID);  // of all threads; this one sleeps
    sleep_for(seconds);
    const auto fires = static_cast<double>(service.fired() - fired);
    require(fires > 0, "no timer fired");
    return {(cpu_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu) / fires,
            1e3 * fires / static_cast<double>(monotonic_ns() - start)};
}

}  // namespace

Comparison merging() {
    Comparison made;
    made.name = "merging";
    made.meaning = "n timers that fire every 100 ms, the same number started by a thread on each processor";
    made.n = firing_timers;
    made.units = {"ns/fire", "M fires/s"};
    made.variants = {
        {"1-lane", [](double seconds) { return measure(Lanes::one, seconds); }},
        {"lanes", [](double seconds) { return measure(Lanes::usual, seconds); }},
    };
    made.ratios = {{"lanes compared with one lane", "lanes", "1-lane"}};
    return made;
}

}  // namespace bench::scaling
