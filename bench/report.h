// Reports the results as tables, as a verdict on the targets, and as JSON.
#ifndef TICKWHEEL_BENCH_REPORT_H
#define TICKWHEEL_BENCH_REPORT_H

#include <string>
#include <vector>

#include "runner.h"

namespace bench {

struct WorkloadInfo {
    Workload workload;
    Kind kind;
    const char *name;
    const char *unit;
    const char *meaning;
};
extern const std::vector<WorkloadInfo> workload_infos;
const WorkloadInfo &info(Workload workload);

// The result of one implementation at one workload and n: a value per run, or the reason why
// there is none.
struct Result {
    Workload workload;
    std::size_t n;
    std::string implementation;
    std::vector<double> values;
    std::string not_run;

    // The median; for the longest tick the minimum, because the machine itself stalls now and then.
    double value() const;
    double least() const;
    double most() const;
};

// Returns the result if it exists and has values, else null.
const Result *find(const std::vector<Result> &results, Workload workload, std::size_t n,
                   const std::string &implementation);

void print_tables(const std::vector<Result> &results);
void print_idioms(const std::vector<Implementation> &implementations);
void print_targets(const std::vector<Result> &results);

// Writes everything that the page can draw: the results, the meaning of each workload, and which
// implementations did not run, and why.
bool write_json(const std::string &path, const std::vector<Result> &results,
                const std::vector<Implementation> &implementations,
                const std::vector<std::string> &not_built);

}  // namespace bench

#endif
