// Runs in child processes, and their results through a pipe; see runner.h.
#include "runner.h"

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace bench {

namespace {

constexpr unsigned patience_s = 180;

std::string file_prefix(Kind kind) {
    switch (kind) {
    case Kind::waiting:
        return "bench_waiting-";
    case Kind::threads:
        return "bench_threads-";
    case Kind::handle:
        return "bench_handle-";
    case Kind::keyed:
        return "bench_keyed-";
    case Kind::spawn:
        return "bench_spawn-";
    case Kind::ttl:
        return "bench_ttl-";
    case Kind::observing:
        return "bench_observing-";
    default:
        return "bench_";
    }
}

[[noreturn]] void run_and_report(const Implementation &implementation, const Task &task, int pipe_end) {
    alarm(patience_s);
    const std::vector<Sample> samples = implementation.module->run(task);
    const std::size_t bytes = samples.size() * sizeof(Sample);
    const bool written = write(pipe_end, samples.data(), bytes) == static_cast<ssize_t>(bytes);
    _exit(written ? 0 : 1);
}

std::vector<Sample> read_samples(int pipe_end) {
    std::vector<Sample> samples;
    for (Sample sample; read(pipe_end, &sample, sizeof sample) == sizeof sample;)
        samples.push_back(sample);
    return samples;
}

}  // namespace

std::optional<Implementation> open_implementation(const std::string &name, Kind kind) {
    void *handle = dlopen((file_prefix(kind) + name + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return std::nullopt;
    using Entry = decltype(&tickwheel_bench_module);
    const auto entry = reinterpret_cast<Entry>(dlsym(handle, "tickwheel_bench_module"));
    require(entry, dlerror());
    return Implementation{name, kind, entry()};
}

// The samples fit into the pipe's buffer, so the child can exit before the parent reads them.
std::optional<std::vector<Sample>> run_apart(const Implementation &implementation, const Task &task) {
    int ends[2];
    require(pipe(ends) == 0, "pipe");
    const pid_t child = fork();
    require(child >= 0, "fork");
    if (child == 0)
        run_and_report(implementation, task, ends[1]);

    close(ends[1]);
    int status = 0;
    waitpid(child, &status, 0);
    const std::vector<Sample> samples = read_samples(ends[0]);
    close(ends[0]);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return std::nullopt;
    return samples;
}

void use_huge_pages_in_malloc(char **argv) {
    const char *variable = "GLIBC_TUNABLES";
    if (std::getenv(variable))
        return;
    setenv(variable, "glibc.malloc.hugetlb=1", 1);
    execvp(argv[0], argv);
}

}  // namespace bench
