// worker ADDRESS LOG NAME [SETTING=NUMBER...]: a process that handles jobs, or puts them, or both, and writes
// a log. crash.py runs several workers, ends them at any moment, and checks their logs.
//
//   handle=1       handles the kind "crash"
//   put=N          puts about N jobs a second
//   keep=N         first puts the periodic job that all processes put and keep, with the version N
//   seed=N         of the random puts and handlers
//   timeout_ms=N   longest wait for the database
//   horizon_ms=N   as the option of tw_durable_open
//   padding=N      bytes of a payload
//   lease_ms=N     as the option of tw_durable_open, otherwise a second
//   attempts=N     as the option of tw_durable_register. Each put is preceded by a requeue of a failed job
//   drain=1        removes all periodic jobs, and ends when there are no more jobs
//
// SIGUSR1 ends the puts, SIGTERM the process.
#include <sys/prctl.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <tickwheel/durable.h>

#include "history_log.hpp"
#include "support/random.h"

namespace {

using processes::log;
using processes::moment;

constexpr std::int64_t ms = TW_MILLISECOND;
constexpr const char *kind = "crash";

struct program {
    const char *address;
    log events;
    std::string name;
    std::map<std::string, std::int64_t> settings;
    tw_runtime *rt = nullptr;
    tw_durable *jobs = nullptr;
    std::atomic<bool> puts{true}, ends{false};

    std::int64_t setting(const char *of, std::int64_t by_default) const {
        const auto found = settings.find(of);
        return found != settings.end() ? found->second : by_default;
    }
};

std::uint64_t seed_of_thread(const program &self, std::uint64_t which) {
    return static_cast<std::uint64_t>(self.setting("seed", 1)) * 1000 + which;
}

void pause_for(std::int64_t ns) { std::this_thread::sleep_for(std::chrono::nanoseconds(ns)); }

// --- handling -----------------------------------------------------------------------------------

// How long a handler takes. Some take long enough for a kill, or the end of a lease, to come while they run.
std::int64_t length_of_fire(std::uint64_t *seed) {
    const std::uint64_t which = random_below(seed, 100);
    if (which < 70)
        return 0;
    return static_cast<std::int64_t>(random_below(seed, which < 97 ? 20 : 300)) * ms;
}

tw_durable_answer choose_answer(tw_durable_fire *fire, std::uint64_t *seed) {
    const std::uint64_t which = random_below(seed, 100);
    if (which < 4)
        return tw_durable_again(fire, static_cast<std::int64_t>(random_below(seed, 200)) * ms);
    return which < 8 ? tw_durable_failed(fire, "by chance") : TW_DURABLE_DONE;
}

// The handler reads the time before the lease: if the lease lasts, it also lasted at that time.
tw_durable_answer on_fire(tw_durable_fire *fire, void *arg) {
    auto &self = *static_cast<program *>(arg);
    static std::atomic<std::uint64_t> threads{1'000};
    thread_local std::uint64_t seed = seed_of_thread(self, threads++);
    tw_durable_counts counts{};
    tw_durable_stats(self.jobs, &counts);
    const std::int64_t now = tw_durable_now(self.jobs);
    const moment begun;
    const long long lease = tw_durable_lease(fire), token = fire->token;
    self.events.write(
        "fire", begun,
        R"("key":"%s","version":%d,"due":%lld,"overruns":%llu,"attempt":%u,"token":%lld,"lease":%lld,)"
        R"("now":%lld,"unconfirmed":%llu)",
        fire->key, std::atoi(static_cast<const char *>(fire->payload)), static_cast<long long>(fire->due_ns),
        static_cast<unsigned long long>(fire->overruns), fire->attempt, token, lease,
        static_cast<long long>(now), static_cast<unsigned long long>(counts.unconfirmed));
    if (const std::int64_t length = length_of_fire(&seed); length > 0)
        pause_for(length);
    const tw_durable_answer answer = choose_answer(fire, &seed);
    const moment ended;
    self.events.write("answer", ended, R"("key":"%s","token":%lld,"lease":%lld,"answer":%d)", fire->key,
                      token, static_cast<long long>(tw_durable_lease(fire)), static_cast<int>(answer));
    return answer;
}

void on_event(tw_durable_event event, const char *, void *arg) {
    static_cast<program *>(arg)->events.write("event", {}, R"("event":%d)", static_cast<int>(event));
}

// --- putting ------------------------------------------------------------------------------------

// Puts jobs under names of its own, one call after the other.
class putter {
  public:
    putter(program &whose, std::uint64_t number, std::size_t threads)
        : it_(whose), seed_(seed_of_thread(whose, number)), padding_(whose.setting("padding", 100)),
          prefix_(whose.name + '.' + std::to_string(number) + '.'),
          pause_ns_(static_cast<std::int64_t>(threads) * TW_SECOND / whose.setting("put", 1)) {}

    // After SIGUSR1, still carries out the plans.
    void run() {
        while (!it_.ends && (it_.puts || !plans_.empty())) {
            while (!plans_.empty() && (plans_.begin()->first <= steady() || !it_.puts))
                carry_out_first();
            if (it_.puts) {
                if (it_.setting("attempts", 0) != 0)
                    requeue_one();
                put_new();
            }
            pause_for(
                static_cast<std::int64_t>(random_below(&seed_, static_cast<std::uint64_t>(2 * pause_ns_))));
        }
    }

  private:
    struct plan {
        std::string key;
        bool removes;
    };

    static std::int64_t steady() { return processes::true_clock(CLOCK_MONOTONIC); }
    std::int64_t up_to(std::int64_t bound) {
        return static_cast<std::int64_t>(random_below(&seed_, static_cast<std::uint64_t>(bound)));
    }

    void put_new() {
        const std::string key = prefix_ + std::to_string(count_++);
        const std::int64_t which = up_to(100), delay = which % 4 == 0 ? 0 : up_to(1500) * ms;
        if (which < 80)
            return put(key, 1, delay, 0);
        if (which < 86)
            put(key, 1, delay, (100 + up_to(400)) * ms);
        else
            put(key, 1, delay, 0);
        plans_.emplace(steady() + up_to(1500) * ms, plan{key, which < 93});
    }

    void carry_out_first() {
        const plan what = plans_.begin()->second;
        plans_.erase(plans_.begin());
        if (what.removes)
            remove(what.key);
        else
            put(what.key, 2, up_to(1000) * ms, 0);
    }

    void put(const std::string &key, int version, std::int64_t delay, std::int64_t period) {
        std::string payload = std::to_string(version);
        payload.resize(static_cast<std::size_t>(padding_), ' ');
        tw_durable_job job{};
        job.kind = kind;
        job.key = key.c_str();
        job.payload = payload.c_str();
        job.size = payload.size() + 1;
        job.due_ns = delay;
        job.period_ns = period;
        job.missed = up_to(2) == 0 ? TW_DURABLE_COALESCE : TW_DURABLE_BURST;
        const std::int64_t settled = settled_until();
        it_.events.write("puts", {}, R"("key":"%s","version":%d,"delay":%lld,"period":%lld,"settled":%lld)",
                         key.c_str(), version, static_cast<long long>(delay), static_cast<long long>(period),
                         static_cast<long long>(settled));
        int result = tw_durable_put(it_.jobs, &job, TW_DURABLE_ADD);
        if (result == -EEXIST && (result = tw_durable_put(it_.jobs, &job, TW_DURABLE_REPLACE)) == 0)
            result = 1;  // the put has replaced a job
        it_.events.write("put", {}, R"("key":"%s","version":%d,"result":%d)", key.c_str(), version, result);
    }

    // The database has all answers that were given before this time. 0: not known.
    std::int64_t settled_until() {
        const moment before;
        tw_durable_counts counts{};
        tw_durable_stats(it_.jobs, &counts);
        return counts.running == 0 && counts.unsettled == 0 ? before.boot : 0;
    }

    void requeue_one() {
        tw_durable_filter first{};
        first.states = TW_DURABLE_FAILED;
        first.limit = 1;
        std::string key;
        const int error = tw_durable_list(
            it_.jobs, &first,
            [](const tw_durable_entry *entry, void *found) {
                *static_cast<std::string *>(found) = entry->job.key;
                return 0;
            },
            &key);
        if (error != 0 || key.empty())
            return;
        it_.events.write("requeues", {}, R"("key":"%s")", key.c_str());
        it_.events.write("requeued", {}, R"("key":"%s","result":%lld)", key.c_str(),
                         static_cast<long long>(tw_durable_requeue(it_.jobs, kind, key.c_str())));
    }

    void remove(const std::string &key) {
        it_.events.write("removes", {}, R"("key":"%s")", key.c_str());
        const int result = tw_durable_cancel(it_.jobs, kind, key.c_str());
        it_.events.write("removed", {}, R"("key":"%s","result":%d)", key.c_str(), result);
    }

    program &it_;
    std::uint64_t seed_;
    const std::int64_t padding_;
    const std::string prefix_;
    const std::int64_t pause_ns_;
    unsigned long count_ = 0;
    std::multimap<std::int64_t, plan> plans_;  // by time
};

void put_until_told(program &self) {
    constexpr std::size_t count = 3;  // their puts share transactions
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < count; ++i)
        threads.emplace_back([&self, i] { putter(self, i, count).run(); });
    for (std::thread &each : threads)
        each.join();
    self.events.write("quiet", {}, R"("name":"%s")", self.name.c_str());
}

// As a service puts its periodic jobs at every start of every process.
void put_shared(program &self, int version) {
    const std::string payload = std::to_string(version);
    tw_durable_job job{};
    job.kind = kind;
    job.key = "shared";
    job.payload = payload.c_str();
    job.size = payload.size() + 1;
    job.due_ns = job.period_ns = 250 * ms;
    self.events.write("keeps", {}, R"("key":"shared","version":%d,"delay":%lld,"period":%lld)", version,
                      static_cast<long long>(job.due_ns), static_cast<long long>(job.period_ns));
    self.events.write("kept", {}, R"("key":"shared","result":%d)",
                      tw_durable_put(self.jobs, &job, TW_DURABLE_KEEP));
}

// --- draining -----------------------------------------------------------------------------------

std::vector<std::string> periodic_jobs(program &self) {
    std::vector<std::string> keys;
    const int error = tw_durable_list(
        self.jobs, nullptr,
        [](const tw_durable_entry *entry, void *found) {
            if (entry->job.period_ns != 0)
                static_cast<std::vector<std::string> *>(found)->push_back(entry->job.key);
            return 0;
        },
        &keys);
    if (error != 0)
        std::fprintf(stderr, "%s: list: %s\n", self.name.c_str(), tw_durable_explain(error));
    return keys;
}

void drain(program &self) {
    std::int64_t left = 1;
    while (!self.ends && left != 0) {
        for (const std::string &key : periodic_jobs(self)) {
            self.events.write("removes", {}, R"("key":"%s")", key.c_str());
            self.events.write("removed", {}, R"("key":"%s","result":%d)", key.c_str(),
                              tw_durable_cancel(self.jobs, kind, key.c_str()));
        }
        left = tw_durable_count(self.jobs, nullptr);
        self.events.write("left", {}, R"("count":%lld)", static_cast<long long>(left));
        pause_for(50 * ms);
    }
}

// --- the program --------------------------------------------------------------------------------

int open_once(program &self) {
    tw_durable_options options{};
    options.name = self.name.c_str();
    options.lease_ns = self.setting("lease_ms", 1000) * ms;
    options.timeout_ns = self.setting("timeout_ms", 1000) * ms;
    options.horizon_ns = self.setting("horizon_ms", 0) * ms;
    options.on_event = on_event;
    options.on_event_arg = &self;
    const int error = tw_durable_open(&self.jobs, self.rt, self.address, &options);
    self.events.write("open", {}, R"("result":%d)", error);
    if (error != 0 || self.setting("handle", 0) == 0)
        return error;
    tw_durable_handling how{};
    // By default without end, because a try whose process was killed counts.
    how.attempts = static_cast<std::uint32_t>(self.setting("attempts", 100'000));
    how.backoff_ns = 50 * ms;
    how.backoff_max_ns = 200 * ms;
    return tw_durable_register(self.jobs, kind, on_fire, &self, &how);
}

// Retries, because the database may be away while this process begins.
bool open_at_last(program &self) {
    while (!self.ends) {
        if (open_once(self) == 0)
            return true;
        pause_for(50 * ms);
    }
    return false;
}

void wait_for_signals(program &self, const sigset_t &signals) {
    for (int number = 0; number != SIGTERM;) {
        sigwait(&signals, &number);
        self.puts = false;
    }
    self.ends = true;
}

void run(program &self) {
    if (self.setting("handle", 0) != 0 &&
        (tw_runtime_new(&self.rt, nullptr) != 0 || tw_runtime_start(self.rt) != 0))
        std::abort();
    if (!open_at_last(self))
        return;
    if (self.setting("drain", 0) != 0)
        return drain(self);
    if (const std::int64_t version = self.setting("keep", 0); version != 0)
        put_shared(self, static_cast<int>(version));
    if (self.setting("put", 0) != 0)
        put_until_told(self);
    while (!self.ends)
        pause_for(10 * ms);
}

}  // namespace

int main(int argc, char **argv) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // not to outlive a test that was killed
    if (argc < 4)
        return 2;
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    sigaddset(&signals, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);

    program self{argv[1], log(argv[2]), argv[3], {}};
    for (int i = 4; i < argc; ++i)
        if (char *const value = std::strchr(argv[i], '='); value != nullptr)
            self.settings[std::string(argv[i], value)] = std::atoll(value + 1);
    std::thread listener([&] { wait_for_signals(self, signals); });
    run(self);
    kill(getpid(), SIGTERM);
    listener.join();
    const int closed = tw_durable_close(self.jobs);
    tw_runtime_free(self.rt);
    self.events.write("close", {}, R"("result":%d)", closed);
    return closed == 0 || closed == -ETIMEDOUT ? 0 : 1;  // the server may be away
}
