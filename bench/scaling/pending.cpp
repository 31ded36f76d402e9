// tickwheel_pending_bench: what timers by handle cost when 1, 10 or 100 million of them are pending: memory,
// a start, a move, a whole life, and the longest tick. A life is the start, the timer's share of all ticks,
// and the call. Each run is a process of its own.
#include <tickwheel/timers.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>

#include "cpu.h"
#include "handle/handle.h"
#include "machine.h"
#include "virtual_runtime.h"

namespace {

using namespace bench;

constexpr const char *usage = "usage: tickwheel_pending_bench [--json FILE] [N...]\n"
                              "  N       numbers of timers; 1000000 10000000 100000000 unless given\n"
                              "  --json  also writes the results to FILE\n";

constexpr const char *units[] = {"bytes/timer",    "ns/start",         "ns/move",
                                 "ns/timer, life", "us, longest tick", "us, p99.9 tick"};
constexpr std::size_t figures = std::size(units);

// For each figure its values: one for each run, or one of all runs.
struct Result {
    std::size_t n;
    std::vector<double> values[figures];
};

void count(const tw_event *, void *fired) { ++*static_cast<std::uint64_t *>(fired); }

// n timers, over 2^20 ticks of a millisecond. Keeps the handles of a million of them, spread over all.
class Pending {
  public:
    explicit Pending(std::size_t n) : n_(n), kept_(std::min(n, stream_length)), handles_(kept_) {
        require(tw_timers_new(&timers_, runtime_, nullptr) == 0, "tw_timers_new");
        fill_delays();
    }

    void start_all() {
        tw_handle handle;
        for (std::size_t i = 0, next = 0; i < n_; ++i) {
            require(tw_timer_after(timers_, &handle, delays_[i & stream_mask], count, &fired_) == 0,
                    "tw_timer_after");
            if (i == next * n_ / kept_)
                handles_[next++] = handle;
        }
    }

    // Moves each timer whose handle is kept, in random order.
    double move_ns() {
        std::vector<std::uint32_t> order(kept_);
        for (std::uint32_t i = 0; i < kept_; ++i)
            order[i] = i;
        Random(8).shuffle(order);
        return cost_of_each(kept_, [&](std::size_t k) {
            require(tw_timer_move(timers_, handles_[order[k]], delays_[k & stream_mask]) == 0,
                    "tw_timer_move");
        });
    }

    // Goes through all ticks, and calls after(tick) after each.
    template <class After> void fire_all(After after) {
        for (std::size_t tick = 0; tick < horizon; ++tick) {
            runtime_.leap(millisecond);
            after(tick);
        }
        require(fired_ == n_, "not every timer fired once");
    }

  private:
    void fill_delays() {
        Random random(9);
        for (std::int64_t &each : delays_)
            each = (1 + random.below(horizon)) * millisecond;
    }

    const std::size_t n_, kept_;
    Delays delays_ = Delays(stream_length);
    std::vector<tw_handle> handles_;
    VirtualRuntime runtime_;
    tw_timers *timers_ = nullptr;  // freed with the runtime
    std::uint64_t fired_ = 0;
};

// Memory, start, move and life. The moves are not a part of the life.
std::vector<double> costs(std::size_t n) {
    auto *const pending = new Pending(n);  // never freed: the process ends with the run
    const double memory = resident_bytes(), begin = cpu_ns();
    pending->start_all();
    const double started = cpu_ns() - begin, bytes = resident_bytes() - memory;
    const double move = pending->move_ns(), before = cpu_ns();
    pending->fire_all([](std::size_t) {});
    const double fired = cpu_ns() - before;
    return {per(bytes, n), per(started, n), move, per(started + fired, n)};
}

// The processor time of each tick in us.
std::vector<double> ticks(std::size_t n) {
    auto *const pending = new Pending(n);
    pending->start_all();
    pending->move_ns();
    std::vector<double> us(horizon, 1);  // touched beforehand
    double before = cpu_ns();
    pending->fire_all([&](std::size_t tick) {
        const double after = cpu_ns();
        us[tick] = (after - before) / 1000;
        before = after;
    });
    return us;
}

constexpr unsigned patience_s = 900;

// Returns what `measure` returns in a child process; nothing if the child failed, or ran out of memory.
std::vector<double> run_apart(std::vector<double> (*measure)(std::size_t), std::size_t n) {
    int ends[2];
    require(pipe(ends) == 0, "pipe");
    const pid_t child = fork();
    require(child >= 0, "fork");
    if (child == 0) {
        alarm(patience_s);
        const std::vector<double> measured = measure(n);
        const std::size_t bytes = measured.size() * sizeof(double);
        _exit(write(ends[1], measured.data(), bytes) == static_cast<ssize_t>(bytes) ? 0 : 1);
    }
    close(ends[1]);
    std::FILE *const from_child = fdopen(ends[0], "r");
    require(from_child != nullptr, "fdopen");
    std::vector<double> values;
    for (double value; std::fread(&value, sizeof value, 1, from_child) == 1;)
        values.push_back(value);
    std::fclose(from_child);
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? values : std::vector<double>{};
}

// Of each tick the shortest of all runs counts: the runs do the same, and the machine stalls now and then.
bool measure(Result &result, unsigned runs) {
    std::vector<double> shortest;
    for (unsigned run = 0; run < runs; ++run) {
        const std::vector<double> cost = run_apart(costs, result.n), us = run_apart(ticks, result.n);
        if (cost.empty() || us.empty())
            return false;
        for (std::size_t i = 0; i < cost.size(); ++i)
            result.values[i].push_back(cost[i]);
        shortest.resize(us.size(), us.front());
        for (std::size_t tick = 0; tick < us.size(); ++tick)
            shortest[tick] = run == 0 ? us[tick] : std::min(shortest[tick], us[tick]);
    }
    if (shortest.empty())
        return false;
    std::sort(shortest.begin(), shortest.end());
    result.values[figures - 2] = {shortest.back()};
    result.values[figures - 1] = {shortest[shortest.size() * 999 / 1000]};
    return true;
}

double available_bytes() {
    std::ifstream meminfo("/proc/meminfo");
    for (std::string name; meminfo >> name;) {
        double kb = 0;
        if (name == "MemAvailable:" && meminfo >> kb)
            return 1024 * kb;
        meminfo.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
    }
    return 0;
}

bool write_json(const std::string &path, const std::vector<Result> &results) {
    std::ofstream out(path);
    out.precision(10);
    out << "{\"machine\":{";
    write_machine(out);
    out << "},\n\"results\":[";
    const char *separator = "\n";
    for (const Result &each : results) {
        for (std::size_t i = 0; i < figures; ++i) {
            out << separator;
            write_result(out, "pending", "tickwheel", each.n, units[i], spread_of(each.values[i]),
                         each.values[i].size());
            separator = ",\n";
        }
    }
    out << "\n]}\n";
    return static_cast<bool>(out.flush());
}

}  // namespace

int main(int argc, char **argv) {
    constexpr double bytes_for_a_timer = 150;
    std::string json;
    unsigned runs = 3;
    std::vector<std::size_t> numbers;
    for (int i = 1; i < argc; ++i) {
        const std::string argument = argv[i];
        if (argument == "--json" && i + 1 < argc)
            json = argv[++i];
        else if (argument == "--runs" && i + 1 < argc && std::strtoul(argv[i + 1], nullptr, 10) != 0)
            runs = static_cast<unsigned>(std::strtoul(argv[++i], nullptr, 10));
        else if (const std::size_t n = std::strtoull(argv[i], nullptr, 10); n != 0)
            numbers.push_back(n);
        else
            return std::fputs(usage, stderr), 2;
    }
    if (numbers.empty())
        numbers = {1'000'000, 10'000'000, 100'000'000};

    std::printf(
        "n timers by handle, over 2^20 ticks of virtual time: processor time, the median of %u runs;\n"
        "for the ticks, the shortest of all runs\n\n| n |",
        runs);
    for (const char *unit : units)
        std::printf(" %s |", unit);
    std::printf("\n|---|---|---|---|---|---|---|\n");
    std::vector<Result> results;
    for (std::size_t n : numbers) {
        if (available_bytes() < bytes_for_a_timer * static_cast<double>(n)) {
            std::printf("| %zu | not run: too little memory |\n", n);
            continue;
        }
        Result result{n, {}};
        if (!measure(result, runs)) {
            std::printf("| %zu | failed |\n", n);
            return 1;
        }
        std::printf("| %zu |", n);
        for (const std::vector<double> &values : result.values)
            std::printf(" %.1f |", spread_of(values).median);
        std::printf("\n");
        std::fflush(stdout);
        results.push_back(result);
    }
    return json.empty() || write_json(json, results) ? 0 : 1;
}
