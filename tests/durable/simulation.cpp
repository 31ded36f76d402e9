// Clusters on virtual time that suffer all that can go wrong, with an oracle that looks on.
//
// The short form, which runs with each push, takes a tenth of the seeds of every scenario, and a tenth of the
// year. It still meets every kind of fault hundreds of times: each scenario says what must happen in it, and
// fails if that does not. The long form differs in the rare coincidences of several faults.
//
//     TW_NIGHTLY=1              the long form
//     TW_SIMULATION_SEED=N      the first seed, in place of 1
//     TW_SIMULATION_RUNS=N      so many seeds of each scenario
//     TW_SIMULATION_LENGTH=N    seconds that each lasts, in place of its own
//     TW_SIMULATION_ONLY=NAME   this scenario alone
//     TW_SIMULATION_TRACE=1     prints what happens
//
// The seed decides everything.
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "simulation_oracle.hpp"
#include "support/sanitized.h"

namespace tickwheel::durable::tests {
namespace {

constexpr std::size_t names = 24;

// What users, handlers and fate do.
class play final : public script {
  public:
    explicit play(world &of) : world_(of), oracle_(of) {}

    void begin();
    void finish();
    void act() override;
    std::int64_t next() const override { return std::min(next_act_, next_fault_); }
    tw_durable_answer handle(process &by, tw_durable_fire &fire) override;
    void put_kinds(process &to) override;
    const tally &so_far() const { return oracle_.so_far(); }

  private:
    void act_as_user();
    void act_as_fate();
    void put(process &by);
    void remove(process &by);
    void requeue(process &by);
    tw_durable_job random_job(const char *key);
    void take_time(process &by);
    tw_durable_answer answer(process &by, tw_durable_fire &fire);
    std::int64_t after(std::int64_t average) {
        return world_.now() + 1 +
               static_cast<std::int64_t>(world_.random(static_cast<std::uint64_t>(2 * average)));
    }

    world &world_;
    oracle oracle_;
    std::int64_t next_act_ = INT64_MAX, next_fault_ = INT64_MAX;
    bool is_over_ = false;  // no more faults, and each handler is done at once
};

std::string key_of(std::uint64_t number) { return "job " + std::to_string(number); }

// --- users -----------------------------------------------------------------------------------

tw_durable_job play::random_job(const char *key) {
    tw_durable_job job = {};
    job.kind = "job";
    job.key = key;
    job.missed = static_cast<tw_durable_missed>(world_.random(3));
    job.grace_ns = world_.random(2) == 0 ? 0 : world_.random_time(10 * second);
    switch (world_.random(6)) {
    case 0:
        job.cron = "*/5 * * * *";
        break;
    case 1:
    case 2:
        job.period_ns = (world_.random_time(world_.what.longest_delay) / ms + 1000) * ms;
        [[fallthrough]];
    default:
        job.due_ns = world_.random_time(world_.what.longest_delay);
    }
    if (job.cron == nullptr && world_.random(4) == 0) {
        job.absolute = 1;
        job.due_ns += world_.database_now();
    }
    return job;
}

void play::put(process &by) {
    const std::string key = key_of(world_.random(names));
    const bool keep = world_.random(3) == 0;
    const tw_durable_job job = random_job(key.c_str());
    oracle_.before_change(key.c_str());
    by.took_effect = false;
    const int result = tw_durable_put(by.jobs, &job, keep ? TW_DURABLE_KEEP : TW_DURABLE_REPLACE);
    world_.tell("process %u puts %s, period %.3f s, due %.6f%s: %d", by.number, key.c_str(),
                static_cast<double>(job.period_ns) / 1e9, static_cast<double>(job.due_ns) / 1e9,
                keep ? ", or keeps it" : "", result);
    oracle_.put(job, keep, result, by.took_effect);
}

void play::remove(process &by) {
    const std::string key = key_of(world_.random(names));
    oracle_.before_change(key.c_str());
    by.took_effect = false;
    const int result = tw_durable_remove(by.jobs, "job", key.c_str());
    world_.tell("process %u removes %s: %d", by.number, key.c_str(), result);
    oracle_.removed(key.c_str(), result, by.took_effect);
}

void play::requeue(process &by) {
    const std::string key = key_of(world_.random(names));
    oracle_.before_change(key.c_str());
    by.took_effect = false;
    const std::int64_t result = tw_durable_requeue(by.jobs, "job", key.c_str());
    world_.tell("process %u requeues %s: %lld", by.number, key.c_str(), static_cast<long long>(result));
    oracle_.requeued(key.c_str(), result, by.took_effect);
}

void play::act_as_user() {
    process *const by = world_.random_process();
    if (by == nullptr)
        return;
    world_.turn(*by);  // the user's thread knows what time it is
    if (!world_.is_usable(*by))
        return;
    const std::uint64_t what = world_.random(10);
    if (what < 6)
        put(*by);
    else if (what < 9)
        remove(*by);
    else
        requeue(*by);
}

// --- fate ------------------------------------------------------------------------------------

void play::act_as_fate() {
    process *const it = world_.random_process();
    const std::int64_t some = world_.random_time(3 * world_.what.lease);
    switch (it != nullptr ? world_.random(world_.what.sets_clock ? 5 : 4) : 3) {
    case 0:
        world_.crash(*it);
        world_.begin_process(*this);
        break;
    case 1:
        world_.tell("process %u pauses for %.3f s", it->number, static_cast<double>(some) / 1e9);
        it->paused_until = world_.now() + some;
        it->faulted_at = it->paused_until;
        break;
    case 2:
        world_.tell("process %u is cut off for %.3f s", it->number, static_cast<double>(some) / 1e9);
        it->cut_off_until = world_.now() + some;
        world_.fault(*it);
        break;
    case 3:
        world_.tell("the database is away for %.3f s", static_cast<double>(some) / 1e9);
        world_.outage_until = world_.now() + some;
        break;
    default:
        world_.set_clock(world_.random_time(minute) * (world_.random(2) == 0 ? 1 : -1));
    }
}

void play::act() {
    if (next_act_ <= world_.now()) {
        act_as_user();
        next_act_ = after(world_.what.between_acts);
    } else {
        act_as_fate();
        next_fault_ = after(world_.what.between_faults);
    }
}

// --- handlers --------------------------------------------------------------------------------

// The rest of the world goes on meanwhile. Afterwards this process has to look at its clock before it does
// anything else.
void play::take_time(process &by) {
    const std::int64_t time =
        world_.random_time(world_.has_faults ? world_.what.lease : world_.what.lease / 16);
    world_.tell("process %u takes %.3f s", by.number, static_cast<double>(time) / 1e9);
    const std::int64_t begun = world_.now();
    for (const auto &it : world_.processes)  // those further down this stack wait for it
        if (it->is_stalled && time > world_.what.lease / 8)
            it->faulted_at = std::max(it->faulted_at, begun + time);
    ++world_.depth;
    world_.run_until(begun + time, *this);
    --world_.depth;
    if (world_.now() - begun > world_.what.lease / 8)
        world_.fault(by);
    if (tw_runtime_stop(by.rt) < 0)
        world_.fail("stop");
}

tw_durable_answer play::answer(process &by, tw_durable_fire &fire) {
    const std::int64_t delay = world_.random_time(20 * second);
    const bool is_fragile = fire.key[std::strlen(fire.key) - 1] == '7';
    switch (world_.random(is_fragile ? 3 : 12)) {
    case 0:
        oracle_.answers(by, fire, TW_DURABLE_AGAIN, delay);
        return tw_durable_again(&fire, delay);
    case 1:
        oracle_.answers(by, fire, TW_DURABLE_RETRY, retries.backoff_ns);
        return tw_durable_failed(&fire, "as it happens");
    default:
        oracle_.answers(by, fire, TW_DURABLE_DONE, 0);
        return TW_DURABLE_DONE;
    }
}

tw_durable_answer play::handle(process &by, tw_durable_fire &fire) {
    oracle_.begins(by, fire);
    if (is_over_) {
        oracle_.answers(by, fire, TW_DURABLE_DONE, 0);
        return TW_DURABLE_DONE;
    }
    if (world_.depth < 2 && world_.random(20) == 0)
        take_time(by);
    if (world_.has_faults && world_.random(500) == 0) {
        world_.crash(by);
        tw_runtime_stop(by.rt);
        world_.begin_process(*this);
    }
    return answer(by, fire);
}

play *the_play = nullptr;

tw_durable_answer handle(tw_durable_fire *fire, void *arg) {
    return the_play->handle(*static_cast<process *>(arg), *fire);
}

void play::put_kinds(process &to) {
    if (tw_durable_handle(to.jobs, "job", tests::handle, &to, &retries) != 0)
        world_.fail("handle");
}

// --- a run -----------------------------------------------------------------------------------

void play::begin() {
    the_play = this;
    for (unsigned i = 0; i < world_.what.processes; ++i)
        world_.begin_process(*this);
    next_act_ = after(world_.what.between_acts);
    if (world_.what.between_faults != 0)
        next_fault_ = after(world_.what.between_faults);
    world_.has_faults = world_.what.between_faults != 0;
}

// Long enough for leases to end, tries to be over, and all that was missed to fire.
void play::finish() {
    world_.tell("--- all faults end");
    world_.end_faults();
    next_act_ = next_fault_ = INT64_MAX;
    is_over_ = true;
    world_.run_until(world_.now() + 3 * world_.what.lease + 3 * world_.what.poll + 10 * minute, *this);
    oracle_.check_all_is_well();
}

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

tally run(const scenario &what, std::uint64_t seed, std::uint64_t *calls) {
    world all(what, seed);
    play it(all);
    it.begin();
    all.run_until(what.length, it);
    it.finish();
    if (what.between_faults == 0 && it.so_far().repeats != 0)
        all.fail("without faults, %" PRIu64 " repeats", it.so_far().repeats);
    // A process that is told by nobody looks at each poll; before and after that others may be in a handler.
    if (what.between_faults == 0 && what.hold == 0 && it.so_far().latest > 2 * what.poll + what.lease / 4)
        all.fail("without faults, late by %.3f s", static_cast<double>(it.so_far().latest) / 1e9);
    *calls += all.calls;
    return it.so_far();
}

struct programme {
    scenario what;
    std::uint64_t runs;  // of the long form
};

constexpr programme all_programmes[] = {
    {{"calm", 2 * hour, 3, 15 * second, 2 * second, 2 * second, 0, false, 20 * second, 0, 0, 10 * minute,
      false},
     60},
    {{"calm_narrow", hour, 3, 5 * second, second, 10 * second, 2, true, 5 * second, 0, 0, 3 * minute, false},
     60},
    {{"stormy", hour, 3, 5 * second, second, 2 * second, 0, false, 3 * second, 20 * second, 20'000,
      3 * minute, false},
     200},
    {{"stormy_confirmed", hour, 4, 5 * second, second, minute, 4, true, 3 * second, 20 * second, 20'000,
      3 * minute, false},
     100},
    {{"stormy_clock", hour, 3, 5 * second, second, 10 * second, 0, false, 3 * second, 20 * second, 20'000,
      3 * minute, true},
     200},
    {{"breaking", hour, 2, 10 * second, second, 5 * second, 0, false, 5 * second, minute, 200'000, 3 * minute,
      false},
     100},
    {{"year", 365 * day, 3, 2 * minute, 30 * second, minute, 0, false, 2 * hour, day, 1'000, 2 * day, true},
     1},
};

std::uint64_t number_in(const char *variable, std::uint64_t otherwise) {
    const char *const text = std::getenv(variable);
    return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

// The form that runs here: the long one, or a tenth of it; under a sanitizer less.
programme shortened(programme it) {
    if (std::getenv("TW_NIGHTLY") != nullptr && !SLOW)
        return it;
    if (it.runs > 1)
        it.runs /= SLOW ? 20 : 10;
    else
        it.what.length /= SLOW ? 50 : 10;
    return it;
}

// A scenario in which nothing went wrong proves nothing.
void check_has_happened(const scenario &what, const tally &sum) {
    const bool has_faults = what.between_faults != 0 || what.broken_calls != 0;
    if (sum.fires == 0 || sum.removed == 0 || has_faults != (sum.repeats != 0) ||
        (has_faults && !what.confirmed_only) != (sum.unconfirmed != 0)) {
        std::fprintf(stderr, "%s: not all that must happen has happened\n", what.name);
        std::exit(1);
    }
}

void run_all(const programme &it) {
    scenario what = it.what;
    what.length = static_cast<std::int64_t>(
                      number_in("TW_SIMULATION_LENGTH", static_cast<std::uint64_t>(what.length / second))) *
                  second;
    const std::uint64_t first = number_in("TW_SIMULATION_SEED", 1);
    const bool is_one = std::getenv("TW_SIMULATION_SEED") != nullptr;
    const std::uint64_t runs = number_in("TW_SIMULATION_RUNS", is_one ? 1 : it.runs);
    const double began = cpu_seconds();
    std::uint64_t calls = 0;
    tally sum;
    for (std::uint64_t seed = first; seed < first + runs; ++seed) {
        const tally one = run(what, seed, &calls);
        sum.fires += one.fires;
        sum.repeats += one.repeats;
        sum.unconfirmed += one.unconfirmed;
        sum.removed += one.removed;
        sum.failed += one.failed;
        sum.latest = std::max(sum.latest, one.latest);
    }
    std::printf("%-16s %4" PRIu64 " runs, %6.1f s, %9" PRIu64 " calls, %7" PRIu64 " fires, %6" PRIu64
                " repeats, %6" PRIu64 " unconfirmed, %6" PRIu64 " removed, %4" PRIu64
                " failed, late %.3f s at most\n",
                what.name, runs, cpu_seconds() - began, calls, sum.fires, sum.repeats, sum.unconfirmed,
                sum.removed, sum.failed, static_cast<double>(sum.latest) / 1e9);
    if (!is_one)
        check_has_happened(what, sum);
}

}  // namespace
}  // namespace tickwheel::durable::tests

int main() {
    using namespace tickwheel::durable::tests;
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    const char *const only = std::getenv("TW_SIMULATION_ONLY");
    for (const programme &it : all_programmes)
        if (only == nullptr || std::strcmp(only, it.what.name) == 0)
            run_all(shortened(it));
    return 0;
}
