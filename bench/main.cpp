// tickwheel_bench: compares this library with its peers. For each workload and n the
// implementations run in turn, A B C A B C ..., so that a slow minute of the machine affects all
// of them alike.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <string_view>

#include "report.h"

namespace {

using namespace bench;

constexpr const char *usage =
    "usage: tickwheel_bench [--quick|--smoke] [--json FILE] [--workload W[,W]] [--impl I[,I]] [--runs R]\n"
    "       tickwheel_bench --once rearm-hot|idle-tick|lateness --impl I --ops N\n"
    "  --quick     n = 100,000 and 1,000,000 and 3 runs instead of 1 M and 10 M and 5\n"
    "  --smoke     does everything run? n = 10,000 at most and one run: its figures mean nothing\n"
    "  --json      also writes the results to FILE\n"
    "  --once      does N operations in this process, for counting instructions\n"
    "              or system calls\n"
    "workloads, and the impls that run them:\n"
    "  rearm-hot rearm-cold postpone serve expire worst-tick sparse periodic memory\n"
    "              tickwheel tickwheel-locked libev libuv\n"
    "              libevent asio glib multimap heap4\n"
    "  lateness fire-cpu idle\n"
    "              tickwheel-sleep tickwheel-epoll tickwheel-uring tickwheel-timerfd (its drivers)\n"
    "              timerfd-loop (raw) libev libuv libevent asio\n"
    "  contend foreign\n"
    "              tickwheel (nodes) tickwheel-1us (its tick) tickwheel-handles\n"
    "              tickwheel-1-lane (handles) libev libev-sparing (of wake-ups)\n"
    "              multimap, clock-read and lock (what parts of foreign cost)\n"
    "  handle life churn block memory-handle\n"
    "              tickwheel tickwheel-nodes (intrusive; has no memory-handle)\n"
    "              logs (a yardstick for life and churn: the structure alone)\n"
    "  keyed       tickwheel libev-map (unordered_map)\n"
    "  spawn       tickwheel asio\n"
    "  ttl         tickwheel mutex-scan mutex-multimap\n"
    "  observed    tickwheel unmeasured (a library without its meter)\n";

struct Name {
    Kind kind;
    std::string name;
};
const std::vector<Name> implementation_names = {
    {Kind::calls, "tickwheel"},
    {Kind::calls, "tickwheel-locked"},
    {Kind::calls, "libev"},
    {Kind::calls, "libuv"},
    {Kind::calls, "libevent"},
    {Kind::calls, "asio"},
    {Kind::calls, "glib"},
    {Kind::calls, "multimap"},
    {Kind::calls, "heap4"},
    {Kind::waiting, "timerfd-loop"},
    {Kind::waiting, "tickwheel-sleep"},
    {Kind::waiting, "tickwheel-epoll"},
    {Kind::waiting, "tickwheel-uring"},
    {Kind::waiting, "tickwheel-timerfd"},
    {Kind::waiting, "libev"},
    {Kind::waiting, "libuv"},
    {Kind::waiting, "libevent"},
    {Kind::waiting, "asio"},
    {Kind::threads, "tickwheel"},
    {Kind::threads, "tickwheel-1us"},
    {Kind::threads, "tickwheel-handles"},
    {Kind::threads, "tickwheel-1-lane"},
    {Kind::threads, "libev"},
    {Kind::threads, "libev-sparing"},
    {Kind::threads, "multimap"},
    {Kind::threads, "clock-read"},
    {Kind::threads, "lock"},
    {Kind::handle, "tickwheel"},
    {Kind::handle, "tickwheel-nodes"},
    {Kind::handle, "logs"},
    {Kind::keyed, "tickwheel"},
    {Kind::keyed, "libev-map"},
    {Kind::spawn, "tickwheel"},
    {Kind::spawn, "asio"},
    {Kind::ttl, "tickwheel"},
    {Kind::ttl, "mutex-scan"},
    {Kind::ttl, "mutex-multimap"},
    {Kind::observing, "tickwheel"},
    {Kind::observing, "unmeasured"},
};

struct Options {
    bool quick = false, smoke = false;
    std::string json, once;
    std::vector<std::string> workloads, implementations;
    unsigned runs = 0;
    std::size_t operations = 0;
};

// Workloads that share one set-up, at one n.
struct Unit {
    std::vector<Workload> workloads;
    std::size_t n;
    unsigned runs;
    std::size_t most_for_slow;  // largest n that the slowest implementations still run with
};

[[noreturn]] void stop(const std::string &complaint) {
    std::fprintf(stderr, "bench: %s\n%s", complaint.c_str(), usage);
    std::exit(2);
}

std::vector<std::string> split(std::string_view list) {
    std::vector<std::string> items;
    while (!list.empty()) {
        const std::size_t comma = std::min(list.find(','), list.size());
        items.emplace_back(list.substr(0, comma));
        list.remove_prefix(std::min(comma + 1, list.size()));
    }
    return items;
}

bool is_in(const std::vector<std::string> &names, const std::string &name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

std::size_t positive(const char *text) {
    const unsigned long long number = std::strtoull(text, nullptr, 10);
    if (number == 0)
        stop(std::string("not a positive number: ") + text);
    return static_cast<std::size_t>(number);
}

Options parse(int argc, char **argv) {
    Options options;
    for (int i = 1; i < argc; ++i) {
        const std::string option = argv[i];
        auto argument = [&] { return ++i < argc ? argv[i] : (stop(option + " needs a value"), ""); };
        if (option == "--quick")
            options.quick = true;
        else if (option == "--smoke")
            options.quick = options.smoke = true;
        else if (option == "--json")
            options.json = argument();
        else if (option == "--workload")
            options.workloads = split(argument());
        else if (option == "--impl")
            options.implementations = split(argument());
        else if (option == "--runs")
            options.runs = static_cast<unsigned>(positive(argument()));
        else if (option == "--once")
            options.once = argument();
        else if (option == "--ops")
            options.operations = positive(argument());
        else
            stop("unknown option " + option);
    }
    for (const std::string &name : options.workloads)
        if (std::none_of(workload_infos.begin(), workload_infos.end(),
                         [&](auto &each) { return name == each.name; }))
            stop("no workload " + name);
    for (const std::string &name : options.implementations)
        if (std::none_of(implementation_names.begin(), implementation_names.end(),
                         [&](auto &each) { return name == each.name; }))
            stop("no implementation " + name);
    return options;
}

std::vector<Unit> plan(const Options &options) {
    const unsigned runs = options.runs ? options.runs : options.smoke ? 1 : options.quick ? 3 : 5;
    const std::size_t small = options.smoke ? 1000 : options.quick ? 100'000 : 1'000'000;
    const std::size_t most = options.smoke ? 10'000 : SIZE_MAX;
    std::vector<Unit> units;
    auto add = [&](std::vector<Workload> workloads, std::size_t n, unsigned times) {
        n = std::min(n, most);
        std::erase_if(workloads, [&](Workload each) {
            return !options.workloads.empty() && !is_in(options.workloads, info(each).name);
        });
        if (!workloads.empty())
            units.push_back({workloads, n, times, small});
    };
    for (std::size_t n : {small, 10 * small})
        add({Workload::rearm_hot, Workload::rearm_cold, Workload::postpone}, n, runs);
    for (std::size_t n : {small, 10 * small})
        add({Workload::expire}, n, runs);
    for (std::size_t n : {small, 10 * small})
        add({Workload::worst_tick}, n, runs);
    add({Workload::serve}, small, runs);
    add({Workload::sparse}, 10, runs);
    add({Workload::periodic}, 100'000, runs);
    add({Workload::memory_timer, Workload::memory_loop}, small, 1);
    // Shorter runs, and more of them: the system's wake-up latency changes from second to second.
    for (std::size_t n : {1, 10'000})
        add({Workload::lateness_p50, Workload::lateness_p99, Workload::lateness_max, Workload::fire_cpu}, n,
            options.smoke ? runs : 5 * runs);
    if (!options.smoke)
        add({Workload::idle}, 0, 1);
    add({Workload::idle}, 1, 1);
    add({Workload::contend}, 100'000, runs);
    add({Workload::foreign}, 1000, runs);
    for (std::size_t n : {std::min<std::size_t>(100'000, most / 10), std::size_t{1'000'000}})
        add({Workload::handle_start, Workload::handle_move}, n, runs);
    if (!options.quick)
        add({Workload::handle_move}, 10'000'000, std::min(runs, 3u));  // ten seconds a run
    for (Workload workload : {Workload::life, Workload::churn})
        add({workload}, 1'000'000, runs);
    add({Workload::block_longest, Workload::block_p999, Workload::block_total}, 1'000'000, runs);
    add({Workload::handle_memory}, 1'000'000, 1);
    for (Workload workload : {Workload::keyed, Workload::spawn})
        add({workload}, 1'000'000, runs);
    add({Workload::ttl_mix, Workload::ttl_p50, Workload::ttl_p99, Workload::ttl_max}, 1'000'000, runs);
    add({Workload::observed_rearm, Workload::observed_nodes, Workload::observed_handles}, 1'000'000, runs);
    return units;
}

// Returns the reason why the implementation cannot run; empty if it can.
std::string why_not(const Implementation &implementation, const Unit &unit) {
    const Workload workload = unit.workloads.front();
    const std::string &name = implementation.name;
    if (workload == Workload::contend && (name == "clock-read" || name == "lock"))
        return "it is no timer";
    if (workload == Workload::handle_memory && name == "tickwheel-nodes")
        return "its nodes are the user's memory";
    if (name == "logs" && workload != Workload::life && workload != Workload::churn)
        return "it is a yardstick for life and churn";
    if (const char *reason = implementation.module->why_not ? implementation.module->why_not() : nullptr)
        return reason;
    if (implementation.kind != Kind::calls)
        return "";
    const bool needs_virtual_time =
        workload == Workload::worst_tick || workload == Workload::sparse || workload == Workload::serve;
    if (needs_virtual_time && !implementation.module->virtual_time)
        return "it lives in real time";
    if (unit.n > unit.most_for_slow && (name == "glib" || name == "multimap"))
        return "takes long with so many";
    if (unit.n > 1'000'000 && workload == Workload::expire &&
        (name == "libuv" || name == "libevent" || name == "asio"))
        return "a minute a run with so many";
    return "";
}

class Bench {
  public:
    Bench(std::vector<Implementation> implementations, bool quick)
        : implementations_(std::move(implementations)), quick_(quick) {}

    void run(const std::vector<Unit> &units) {
        for (const Unit &unit : units)
            total_ += unit.runs;
        for (const Unit &unit : units)
            run(unit);
        if (on_terminal_)
            std::fprintf(stderr, "\r\033[K");
    }
    const std::vector<Result> &results() const { return results_; }

  private:
    void run(const Unit &unit) {
        const Inputs inputs(unit.n);
        const std::size_t first = results_.size();
        const Kind kind = info(unit.workloads.front()).kind;
        for (Workload workload : unit.workloads)
            for (const Implementation &each : implementations_)
                if (each.kind == kind)
                    results_.push_back({workload, unit.n, each.name, {}, why_not(each, unit)});
        for (unsigned run = 0; run < unit.runs; ++run, ++done_)
            for (const Implementation &each : implementations_)
                if (each.kind == kind && why_not(each, unit).empty())
                    run_one(each, {unit.workloads, unit.n, 0, inputs, quick_}, first);
    }

    void run_one(const Implementation &implementation, const Task &task, std::size_t first) {
        std::fprintf(stderr, "%s[%3.0f%% %4.0fs] n=%-8zu %-17s", on_terminal_ ? "\r\033[K" : "",
                     100. * done_ / total_, seconds(), task.n, implementation.name.c_str());
        const auto samples = run_apart(implementation, task);
        require(samples.has_value(), (implementation.name + " failed").c_str());
        for (const Sample &sample : *samples) {
            const WorkloadInfo &about = info(sample.workload);
            if (!on_terminal_)
                std::fprintf(stderr, "  %s %.2f %s", about.name, sample.value, about.unit);
            record(implementation, sample, first);
        }
        if (!on_terminal_)
            std::fprintf(stderr, "\n");
    }

    void record(const Implementation &implementation, const Sample &sample, std::size_t first) {
        for (std::size_t i = first; i < results_.size(); ++i)
            if (results_[i].workload == sample.workload && results_[i].implementation == implementation.name)
                results_[i].values.push_back(sample.value);
    }

    double seconds() const {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    }

    std::vector<Implementation> implementations_;
    const bool quick_;
    const bool on_terminal_ = isatty(STDERR_FILENO) != 0;  // progress is one line, which goes away
    std::vector<Result> results_;
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
    unsigned done_ = 0, total_ = 0;
};

// Implementations in the arguments that this build lacks go to `not_built`.
std::vector<Implementation> open_all(const Options &options, std::vector<std::string> *not_built) {
    std::vector<Implementation> implementations;
    for (const auto &[kind, name] : implementation_names) {
        if (!options.implementations.empty() && !is_in(options.implementations, name))
            continue;
        if (auto opened = open_implementation(name, kind))
            implementations.push_back(*opened);
        else
            not_built->push_back(name);
    }
    std::sort(not_built->begin(), not_built->end());
    not_built->erase(std::unique(not_built->begin(), not_built->end()), not_built->end());
    for (const std::string &name : *not_built)
        std::printf("%s: not built, its library was not found\n", name.c_str());
    if (implementations.empty())
        stop("nothing to run");
    return implementations;
}

int run_once(const Options &options) {
    constexpr std::size_t pending = 100'000;
    const Workload workload = options.once == "rearm-hot"   ? Workload::rearm_hot
                              : options.once == "idle-tick" ? Workload::idle_tick
                              : options.once == "lateness"
                                  ? Workload::lateness_p50
                                  : (stop("cannot do once: " + options.once), Workload{});
    const Kind kind = info(workload).kind;
    if (options.operations == 0)
        stop("--once needs --ops");
    const Inputs inputs(pending);
    std::vector<std::string> not_built;
    for (const Implementation &each : open_all(options, &not_built))
        if (each.kind == kind)
            each.module->run({{workload}, kind == Kind::waiting ? 1 : pending, options.operations, inputs});
    return 0;
}

}  // namespace

int main(int argc, char **argv) {
    const Options options = parse(argc, argv);
    if (!options.once.empty())
        return run_once(options);
    use_huge_pages_in_malloc(argv);

    std::vector<std::string> not_built;
    const std::vector<Implementation> implementations = open_all(options, &not_built);
    Bench bench(implementations, options.quick);
    bench.run(plan(options));
    print_tables(bench.results());
    print_idioms(implementations);
    if (!options.smoke)
        print_targets(bench.results());
    if (!options.json.empty() && !write_json(options.json, bench.results(), implementations, not_built))
        stop("cannot write " + options.json);
    return 0;
}
