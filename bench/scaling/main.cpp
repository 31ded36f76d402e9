// tickwheel_scaling_bench: how calls scale with threads, and what the library's lanes change. Prints a table
// for each comparison, the ratios, and the curve that model.h computes for more processors than the machine
// has.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <sstream>

#include "machine.h"
#include "model.h"
#include "module.h"
#include "scaling.h"
#include "team.h"

namespace {

using namespace bench;
using namespace bench::scaling;

constexpr const char *usage =
    "usage: tickwheel_scaling_bench [--quick|--smoke] [--json FILE] [--workload W[,W]] [--runs R]\n"
    "       tickwheel_scaling_bench --curve NAME=VALUE[,NAME=VALUE...]\n"
    "  --quick     3 runs of 1 s each instead of 5 of 3 s\n"
    "  --smoke     does everything run? one run of 50 ms: its figures mean nothing\n"
    "  --json      also writes the results to FILE\n"
    "  --curve     only computes, from one-lane, lanes, outside, journey and lock-in-turn, in ns;\n"
    "              lines, turns and looks have defaults (bench/scaling/model.h)\n"
    "workloads: stop-start again move stop-start-firing again-firing move-firing keyed keyed-own ttl\n"
    "           lateness longest-call longest-call-burst merging calibration peers\n";

struct Options {
    double seconds = 3;
    unsigned runs = 5;
    std::string json;
    std::vector<std::string> workloads;
};

[[noreturn]] void stop(const std::string &complaint) {
    std::fprintf(stderr, "bench: %s\n%s", complaint.c_str(), usage);
    std::exit(2);
}

std::vector<std::string> split(const std::string &list) {
    std::vector<std::string> items;
    std::istringstream in(list);
    for (std::string item; std::getline(in, item, ',');)
        items.push_back(item);
    return items;
}

std::vector<Comparison> all_comparisons() {
    std::vector<Comparison> all = call_comparisons();
    all.push_back(ttl_comparison());
    for (Comparison &each : delay_comparisons())
        all.push_back(std::move(each));
    all.push_back(merging());
    all.push_back(calibration());
#ifdef BENCH_HAS_PEERS
    all.push_back(peers());
#endif
    return all;
}

// --- one run -------------------------------------------------------------------------------

constexpr unsigned patience_s = 120;

// Runs in a child process, whose heap and runtime nothing else has used.
std::vector<double> run_apart(const Variant &variant, std::size_t values, double seconds) {
    int ends[2];
    require(pipe(ends) == 0, "pipe");
    const pid_t child = fork();
    require(child >= 0, "fork");
    if (child == 0) {
        alarm(patience_s);
        const std::vector<double> measured = variant.run(seconds);
        const auto bytes = static_cast<ssize_t>(measured.size() * sizeof(double));
        _exit(write(ends[1], measured.data(), measured.size() * sizeof(double)) == bytes ? 0 : 1);
    }
    close(ends[1]);
    std::vector<double> measured(values);
    const auto bytes = static_cast<ssize_t>(values * sizeof(double));
    const bool is_complete = read(ends[0], measured.data(), values * sizeof(double)) == bytes;
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    require(is_complete && WIFEXITED(status) && WEXITSTATUS(status) == 0, (variant.name + " failed").c_str());
    return measured;
}

// --- results -------------------------------------------------------------------------------

// The values of a comparison: of each run, of each variant.
struct Measured {
    Comparison comparison;
    std::vector<std::vector<std::vector<double>>> runs;

    std::size_t number_of(const std::string &variant) const {
        const auto &all = comparison.variants;
        const auto found =
            std::find_if(all.begin(), all.end(), [&](const Variant &each) { return each.name == variant; });
        require(found != all.end(), ("no variant " + variant).c_str());
        return static_cast<std::size_t>(found - all.begin());
    }
    Spread values(std::size_t variant, std::size_t unit) const {
        std::vector<double> all;
        for (const auto &run : runs)
            all.push_back(run[variant][unit]);
        return spread_of(all);
    }
    double median(const std::string &variant) const { return values(number_of(variant), 0).median; }

    // Of each run its own ratio. Without a variant to divide by, the value itself.
    Spread ratios(const Ratio &ratio) const {
        std::vector<double> all;
        for (const auto &run : runs)
            all.push_back(run[number_of(ratio.over)][0] /
                          (ratio.under.empty() ? 1 : run[number_of(ratio.under)][0]));
        return spread_of(all);
    }
};

const char *verdict(const Ratio &ratio, double value) {
    if (ratio.at_least == 0 && ratio.at_most == 0)
        return "";
    return value >= ratio.at_least && (ratio.at_most == 0 || value <= ratio.at_most) ? "met" : "MISSED";
}

std::string limit_of(const Ratio &ratio) {
    char text[40] = "";
    if (ratio.at_least != 0)
        std::snprintf(text, sizeof text, "at least %g", ratio.at_least);
    else if (ratio.at_most != 0)
        std::snprintf(text, sizeof text, "at most %g", ratio.at_most);
    return text;
}

// Tables in Markdown, to paste.
void print(const Measured &measured) {
    const Comparison &about = measured.comparison;
    std::printf("\n%s, n = %zu: %s\n\n| |", about.name.c_str(), about.n, about.meaning.c_str());
    for (const std::string &unit : about.units)
        std::printf(" %s (least .. most) |", unit.c_str());
    std::printf("\n|---|");
    for (std::size_t unit = 0; unit < about.units.size(); ++unit)
        std::printf("---|");
    for (std::size_t variant = 0; variant < about.variants.size(); ++variant) {
        std::printf("\n| %s |", about.variants[variant].name.c_str());
        for (std::size_t unit = 0; unit < about.units.size(); ++unit) {
            const Spread of = measured.values(variant, unit);
            std::printf(" %.2f (%.2f .. %.2f) |", of.median, of.least, of.most);
        }
    }
    std::printf("\n");
    if (!about.ratios.empty())
        std::printf("\n| %s | least | median | most | target | |\n|---|---|---|---|---|---|\n",
                    about.name.c_str());
    for (const Ratio &each : about.ratios) {
        const Spread of = measured.ratios(each);
        std::printf("| %s | %.2f | %.2f | %.2f | %s | %s |\n", each.text.c_str(), of.least, of.median,
                    of.most, limit_of(each).c_str(), verdict(each, of.median));
    }
}

bool write_json(const std::string &path, const std::vector<Measured> &all) {
    std::ofstream out(path);
    out.precision(10);
    out << "{\"machine\":{";
    write_machine(out);
    out << "},\n\"results\":[";
    const char *separator = "\n";
    for (const Measured &each : all) {
        const Comparison &about = each.comparison;
        for (std::size_t variant = 0; variant < about.variants.size(); ++variant) {
            for (std::size_t unit = 0; unit < about.units.size(); ++unit) {
                out << separator;
                write_result(out, about.name, about.variants[variant].name, about.n, about.units[unit],
                             each.values(variant, unit), each.runs.size());
                separator = ",\n";
            }
        }
    }
    out << "\n],\n\"ratios\":[";
    separator = "\n";
    for (const Measured &each : all) {
        for (const Ratio &ratio : each.comparison.ratios) {
            out << separator << "{\"workload\":" << quoted(each.comparison.name)
                << ",\"ratio\":" << quoted(ratio.text) << ",\"at_least\":" << ratio.at_least
                << ",\"at_most\":" << ratio.at_most << ",";
            write_spread(out, each.ratios(ratio), each.runs.size());
            out << "}";
            separator = ",\n";
        }
    }
    out << "\n]}\n";
    return static_cast<bool>(out.flush());
}

// --- the curve -----------------------------------------------------------------------------

constexpr unsigned counts[] = {1, 2, 4, 8, 16, 32, 64};

void print_curve(const Constants &c) {
    std::printf("\ncomputed (bench/scaling/model.h): million pairs of a stop and a start a second\n"
                "with one lane %.1f ns a pair, with lanes %.1f, outside the lock %.1f;\n"
                "a line's journey %.1f ns, a lock in turn %.1f, so a handover with %g lines %.1f\n\n",
                c.one_lane, c.lanes, c.outside, c.journey, c.lock_in_turn, c.lines, handover_ns(c));
    std::printf("| threads | one lock | lanes | lanes, 10 %% stopped by another thread | lanes / one lock | "
                "firing thread looks at the lanes |\n|---|---|---|---|---|---|\n");
    for (unsigned threads : counts) {
        const double one = with_one_lock(c, threads), lanes = with_lanes(c, threads, 0);
        std::printf("| %u | %.2f | %.2f | %.2f | %.1f | %.2f %% |\n", threads, one, lanes,
                    with_lanes(c, threads, 0.1), lanes / one, 100 * looks_of_firing_thread(c, threads));
    }
}

int compute_curve(const std::string &list) {
    Constants c;
    const std::map<std::string, double *> names = {
        {"one-lane", &c.one_lane}, {"lanes", &c.lanes}, {"outside", &c.outside},
        {"journey", &c.journey},   {"lines", &c.lines}, {"lock-in-turn", &c.lock_in_turn},
        {"turns", &c.turns},       {"looks", &c.looks}};
    for (const std::string &item : split(list)) {
        const std::size_t equals = std::min(item.find('='), item.size());
        const auto found = names.find(item.substr(0, equals));
        if (found == names.end() || equals == item.size())
            stop("no constant " + item);
        *found->second = std::strtod(item.c_str() + equals + 1, nullptr);
    }
    if (c.one_lane <= c.outside || c.lanes <= 0 || c.journey <= 0 || c.lock_in_turn <= 0)
        stop("a constant is missing, or the lock is held for no time");
    print_curve(c);
    return 0;
}

const Measured *find(const std::vector<Measured> &all, const char *name) {
    for (const Measured &each : all)
        if (each.comparison.name == name)
            return &each;
    return nullptr;
}

// If what the model needs was measured.
void print_curve_of(const std::vector<Measured> &all) {
    const Measured *calls = find(all, "stop-start"), *costs = find(all, "calibration");
    if (calls == nullptr || costs == nullptr)
        return;
    Constants c;
    c.one_lane = 1e3 / calls->median("one-thread-1-lane");
    c.lanes = 1e3 / calls->median("one-thread");
    c.outside = std::min(costs->median("clock-read") + costs->median("loop"), 0.9 * c.one_lane);
    c.journey = costs->median("line-journey");
    c.lock_in_turn = costs->median("lock-in-turn");
    print_curve(c);
    std::printf("\nmeasured with two threads: one lane %.2f, lanes %.2f, two runtimes %.2f\n",
                calls->median("two-threads-1-lane"), calls->median("two-threads"),
                calls->median("two-runtimes"));
}

Options parse(int argc, char **argv) {
    Options options;
    for (int i = 1; i < argc; ++i) {
        const std::string option = argv[i];
        auto argument = [&] { return ++i < argc ? argv[i] : (stop(option + " needs a value"), ""); };
        if (option == "--quick")
            options.seconds = 1, options.runs = 3;
        else if (option == "--smoke")
            options.seconds = 0.05, options.runs = 1;
        else if (option == "--json")
            options.json = argument();
        else if (option == "--workload")
            options.workloads = split(argument());
        else if (option == "--runs")
            options.runs = static_cast<unsigned>(std::strtoul(argument(), nullptr, 10));
        else if (option == "--curve")
            std::exit(compute_curve(argument()));
        else
            stop("unknown option " + option);
    }
    if (options.runs == 0)
        stop("--runs needs a positive number");
    return options;
}

std::vector<Measured> choose(const Options &options) {
    std::vector<Measured> chosen;
    for (Comparison &each : all_comparisons())
        if (options.workloads.empty() || std::find(options.workloads.begin(), options.workloads.end(),
                                                   each.name) != options.workloads.end())
            chosen.push_back({std::move(each), {}});
    if (chosen.size() < options.workloads.size())
        stop("no such workload");
    return chosen;
}

}  // namespace

int main(int argc, char **argv) {
    const Options options = parse(argc, argv);
    if (processors().size() < 2)
        std::printf("one processor only: threads take turns on it, and the ratios say nothing about lanes\n");
    std::vector<Measured> all = choose(options);
    for (Measured &each : all) {
        for (unsigned run = 0; run < options.runs; ++run) {
            each.runs.emplace_back();
            for (const Variant &variant : each.comparison.variants) {
                const std::size_t units = each.comparison.units.size();
                each.runs.back().push_back(run_apart(variant, units, options.seconds));
                std::fprintf(stderr, "%s, run %u, %s: %.2f %s\n", each.comparison.name.c_str(), run + 1,
                             variant.name.c_str(), each.runs.back().back()[0],
                             each.comparison.units[0].c_str());
            }
        }
        print(each);
        std::fflush(stdout);
    }
    print_curve_of(all);
    std::printf(
        "\nThreads that call the library are pinned, one to each processor in turn; the runtime's thread "
        "is not.\n");
    if (!options.json.empty() && !write_json(options.json, all))
        stop("cannot write " + options.json);
    return 0;
}
