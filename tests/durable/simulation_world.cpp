// See simulation_world.hpp.
#include "simulation_world.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "holding_inspector.hpp"
#include "runtime/turn.hpp"

namespace tickwheel::durable::tests {

world *the_world = nullptr;

namespace {

constexpr std::int64_t begin_of_database = 1'700'000'000 * second;

std::int64_t now_of_database(void *) { return the_world->database_now(); }

}  // namespace

// --- clocks --------------------------------------------------------------------------------------

std::int64_t world::local_at(const process &of, std::int64_t time) const {
    const std::int64_t age = time - of.began_at;
    return of.skew + age + age / 1'000'000 * of.drift_ppm;
}

// The first time at which the process reads `local`.
std::int64_t world::true_time(const process &of, std::int64_t local) const {
    std::int64_t time = of.began_at + (local - of.skew);
    for (std::int64_t off; (off = local - local_at(of, time)) != 0;) {
        time += off;
        if (off > 0 && local_at(of, time - 1) >= local)
            break;
        if (off < 0 && off > -1000)  // a step of the clock lies across it
            break;
    }
    while (local_at(of, time) < local)
        ++time;
    return time;
}

std::int64_t world::random_time(std::int64_t most) {
    // Short ones as often as long ones.
    std::int64_t time = most;
    for (std::uint64_t halves = random(12); halves > 0; --halves)
        time /= 2;
    return time + static_cast<std::int64_t>(random(static_cast<std::uint64_t>(time) + 1));
}

void world::set_clock(std::int64_t by) {
    tell("the database's clock is set by %+.3f s", static_cast<double>(by) / 1e9);
    database_offset_ += by;
    clock_set_at = now_;
}

// --- processes -----------------------------------------------------------------------------------

world::world(const scenario &scene, std::uint64_t seed_of_all)
    : what(scene), seed(seed_of_all), first_seed(seed_of_all), database_offset_(begin_of_database),
      is_told_(std::getenv("TW_SIMULATION_TRACE") != nullptr) {
    the_world = this;
    char why[200];
    const tw_store_place place = {"memory:simulation", "tickwheel", second, 0, now_of_database, nullptr};
    if (tw_store_for("memory:simulation")->open(&observer, &place, why, sizeof why) != 0)
        fail("%s", why);
}

world::~world() {
    end_faults();
    for (process *const it : living_)
        it->is_dead = true;
    bury_crashed();
    tw_store_for("memory:simulation")->close(observer);
    the_world = nullptr;
}

process &world::begin_process(script &by) {
    processes.push_back(std::make_unique<process>());
    process &it = *processes.back();
    it.number = static_cast<unsigned>(processes.size()) - 1;
    living_.push_back(&it);
    it.began_at = now_;
    it.skew = static_cast<std::int64_t>(random(hour));
    it.drift_ppm = static_cast<std::int64_t>(random(81)) - 40;
    tw_runtime_options of_runtime = {};
    of_runtime.driver = "manual";
    if (tw_runtime_new(&it.rt, &of_runtime) != 0 || tw_runtime_advance(it.rt, it.skew) != 0)
        fail("no runtime");
    tw_durable_options options = {};
    const std::string name = "process " + std::to_string(it.number);
    options.name = name.c_str();
    options.lease_ns = what.lease;
    options.poll_ns = what.poll;
    options.horizon_ns = what.horizon;
    options.hold = what.hold;
    options.confirmed_only = what.confirmed_only ? 1 : 0;
    options.single_thread = 1;
    options.store = &faulty_store();
    const std::string address = "simulation:" + std::to_string(it.number);
    const std::int64_t outage = outage_until;
    outage_until = 0;  // to open needs the database; to go on does not
    if (const int error = tw_durable_open(&it.jobs, it.rt, address.c_str(), &options); error != 0)
        fail("open: %s", tw_durable_explain(error));
    outage_until = outage;
    by.put_kinds(it);
    tell("process %u begins", it.number);
    return it;
}

void world::crash(process &it) {
    tell("process %u crashes", it.number);
    it.is_dead = true;
    fault(it);
}

// What has crashed is freed when no turn of it is on the stack any more.
void world::bury_crashed() {
    std::erase_if(living_, [this](process *it) {
        if (!it->is_dead || it->is_stalled)
            return false;
        if (tw_durable_close(it->jobs) != 0)
            fail("close");
        tw_runtime_free(it->rt);
        return true;
    });
}

process *world::random_process() {
    process *chosen = nullptr;
    std::uint64_t count = 0;
    for (process *const it : living_)
        if (is_usable(*it) && random(++count) == 0)
            chosen = it;
    return chosen;
}

bool world::reaches(const process &it) const {
    return !it.is_dead && it.cut_off_until <= now_ && outage_until <= now_;
}

void world::end_faults() {
    has_faults = false;
    outage_until = 0;
    late_claims.clear();
    for (process *const it : living_)
        it->cut_off_until = it->paused_until = 0;
}

// --- time ----------------------------------------------------------------------------------------

std::int64_t world::next_of(const process &it) const {
    if (it.is_dead || it.is_stalled)
        return INT64_MAX;
    const std::int64_t deadline = tickwheel::runtime::what_is_next(*it.rt).steady_ns;
    if (deadline == TW_NO_DEADLINE)
        return INT64_MAX;
    return std::max({now_, it.paused_until, true_time(it, deadline)});
}

// Its clock leaps to the present, and what is due fires.
void world::turn(process &it) {
    it.is_stalled = true;
    if (tw_runtime_leap(it.rt, local_at(it, now_) - tw_runtime_now(it.rt)) != 0)
        fail("leap");
    it.is_stalled = false;
    const char *const invariant = holding_inspector::broken_invariant(it.jobs->member->jobs);
    if (invariant != nullptr)
        fail("%s does not hold in process %u", invariant, it.number);
}

void world::carry_out_late_claims() {
    for (std::size_t i = 0; i < late_claims.size(); ++i) {
        if (late_claims[i].at > now_)
            continue;
        const late_claim it = std::move(late_claims[i]);
        late_claims.erase(late_claims.begin() + static_cast<std::ptrdiff_t>(i--));
        std::vector<const char *> kinds;
        for (const std::string &kind : it.kinds)
            kinds.push_back(kind.c_str());
        const tw_store_claim claim = {it.member, kinds.data(), kinds.size(), it.horizon, it.limit};
        tw_store_look look = {};
        const int result =
            tw_store_for("memory:simulation")
                ->claim(
                    observer, &claim, [](const tw_durable_entry *, void *) { return 0; }, nullptr, &look);
        tell("a late claim of member %lld: %d", static_cast<long long>(it.member.id), result);
    }
}

void world::run_until(std::int64_t time, script &by) {
    for (;;) {
        process *first = nullptr;
        std::int64_t soonest = INT64_MAX;
        for (process *const it : living_)
            if (const std::int64_t next = next_of(*it); next < soonest) {
                soonest = next;
                first = it;
            }
        const std::int64_t next_act = by.next();
        if (std::min(soonest, next_act) > time)
            break;
        now_ = std::max(now_, std::min(soonest, next_act));
        if (!late_claims.empty())
            carry_out_late_claims();
        if (next_act <= soonest)
            by.act();
        else
            turn(*first);
        if (depth == 0)
            bury_crashed();
    }
    now_ = std::max(now_, time);
}

// --- telling -------------------------------------------------------------------------------------

void world::tell(const char *format, ...) const {
    if (!is_told_)
        return;
    std::fprintf(stderr, "%14.6f  ", static_cast<double>(now_) / 1e9);
    va_list values;
    va_start(values, format);
    std::vfprintf(stderr, format, values);
    va_end(values);
    std::fputc('\n', stderr);
}

void world::fail(const char *format, ...) const {
    std::fprintf(stderr, "%s, at %.6f s: ", what.name, static_cast<double>(now_) / 1e9);
    va_list values;
    va_start(values, format);
    std::vfprintf(stderr, format, values);
    va_end(values);
    std::fprintf(stderr,
                 "\nAgain, with all that happens: TW_SIMULATION_ONLY=%s TW_SIMULATION_SEED=%llu "
                 "TW_SIMULATION_TRACE=1\n",
                 what.name, static_cast<unsigned long long>(first_seed));
    std::fflush(nullptr);
    std::_Exit(1);
}

}  // namespace tickwheel::durable::tests
