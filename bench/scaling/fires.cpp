// What the firing thread pays for one order over several lanes, while no other thread makes calls.

#include <time.h>

#include "scaling.h"
#include "service.h"

namespace bench::scaling {

namespace {

// Of all threads; this one sleeps.
double process_cpu_ns() {
    timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return 1e9 * static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec);
}

std::vector<double> measure(Lanes lanes, std::size_t in_a_row, double seconds) {
    Service service(lanes);
    service.fire_every_100_ms(firing_timers, Phases::spread, in_a_row);
    const std::uint64_t fired = service.fired();
    const std::int64_t start = monotonic_ns();
    const double cpu = process_cpu_ns();
    sleep_for(seconds);
    const auto fires = static_cast<double>(service.fired() - fired);
    require(fires > 0, "no timer fired");
    return {(process_cpu_ns() - cpu) / fires, 1e3 * fires / static_cast<double>(monotonic_ns() - start)};
}

}  // namespace

Comparison merging() {
    Comparison made;
    made.name = "merging";
    made.meaning =
        "n timers that fire every 100 ms, started in turn on all processors: on each so many in a row";
    made.n = firing_timers;
    made.units = {"ns/fire", "M fires/s"};
    auto add = [&](const char *name, Lanes lanes, std::size_t in_a_row) {
        made.variants.push_back(
            {name, [lanes, in_a_row](double seconds) { return measure(lanes, in_a_row, seconds); }});
    };
    add("1-lane", Lanes::one, 1000);
    add("lanes-1000-in-a-row", Lanes::usual, 1000);
    add("lanes-1-in-a-row", Lanes::usual, 1);
    made.ratios = {
        {"lanes, 1000 in a row, compared with one lane", "lanes-1000-in-a-row", "1-lane"},
        {"lanes, 1 in a row, compared with one lane", "lanes-1-in-a-row", "1-lane"},
    };
    return made;
}

}  // namespace bench::scaling
