// Durable jobs of this library, in the workloads of peers/measure.mjs: the same arguments, the same line of
// JSON.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <tickwheel/durable.h>
#include <tickwheel/version.h>

namespace {

struct options {
    const char *address = nullptr, *workload = nullptr;
    double rate = 1000, seconds = 20, ahead = 10, jobs = 20000, batch = 1000, patience = 10;
};

[[noreturn]] void die(const char *what) {
    std::fprintf(stderr, "tickwheel_durable_bench: %s\n", what);
    std::exit(1);
}

std::int64_t check(std::int64_t result) {
    if (result < 0)
        die(tw_durable_explain(static_cast<int>(result)));
    return result;
}

std::int64_t wall_now() {
    timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec * TW_SECOND + now.tv_nsec;
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// The library, with the interface of the peers in peers/measure.mjs.
class peer {
  public:
    // The settings are chosen for throughput, or are the defaults.
    explicit peer(const options &all, bool has_defaults = false) : options_(all) {
        tw_runtime_options runtime = {};
        runtime.driver = "epoll";
        check(tw_runtime_new(&rt_, &runtime));
        check(tw_runtime_start(rt_));
        tw_durable_options durable = {};
        durable.hold = has_defaults ? 0 : 8192;
        check(tw_durable_open(&jobs_, rt_, options_.address, &durable));
    }
    peer(const peer &) = delete;
    peer &operator=(const peer &) = delete;
    ~peer() {
        tw_durable_close(jobs_);
        tw_runtime_free(rt_);
    }

    void start() { check(tw_durable_register(jobs_, "job", on_fire, this, nullptr)); }

    // Puts `count` jobs in one call: due at these times, or at once if `due` is empty.
    void put(const std::vector<std::int64_t> &due, std::size_t count) {
        std::vector<std::string> keys(count);
        std::vector<tw_durable_job> all(count);
        for (std::size_t i = 0; i < count; ++i) {
            keys[i] = std::to_string(++keys_);
            all[i].kind = "job";
            all[i].key = keys[i].c_str();
            all[i].absolute = due.empty() ? 0 : 1;
            all[i].due_ns = due.empty() ? 0 : due[i];
        }
        check(tw_durable_put_many(jobs_, all.data(), count, TW_DURABLE_REPLACE));
    }

    std::int64_t left() { return check(tw_durable_count(jobs_, nullptr)); }
    std::size_t fires() const { return fires_; }

    std::vector<double> late_ms() {
        const std::lock_guard hold(mutex_);
        return late_ms_;
    }

  private:
    static tw_durable_answer on_fire(tw_durable_fire *fire, void *self) {
        const std::int64_t late = wall_now() - fire->due_ns;
        auto &one = *static_cast<peer *>(self);
        {
            const std::lock_guard hold(one.mutex_);
            one.late_ms_.push_back(static_cast<double>(late) / 1e6);
        }
        ++one.fires_;
        return TW_DURABLE_DONE;
    }

    const options &options_;
    tw_runtime *rt_ = nullptr;
    tw_durable *jobs_ = nullptr;
    std::uint64_t keys_ = 0;
    std::atomic<std::size_t> fires_{0};
    std::mutex mutex_;
    std::vector<double> late_ms_;
};

void print_head(const options &all) {
    std::printf(
        "{\"impl\":\"tickwheel\",\"version\":\"%d.%d.%d\",\"workload\":\"%s\",\"settings_name\":\"tuned\","
        "\"settings\":{\"hold\":8192}",
        TW_VERSION_MAJOR, TW_VERSION_MINOR, TW_VERSION_PATCH, all.workload);
}

// Puts a batch every 100 ms. The jobs of a batch come due evenly over 100 ms.
double put_at_pace(peer &one, const options &all) {
    const auto size = static_cast<std::size_t>(all.rate / 10);
    const std::int64_t begin = wall_now();
    std::int64_t slowest = 0;
    for (int batch = 0; batch < static_cast<int>(all.seconds * 10); ++batch) {
        const std::int64_t at = begin + batch * 100 * TW_MILLISECOND;
        std::this_thread::sleep_for(std::chrono::nanoseconds(std::max<std::int64_t>(0, at - wall_now())));
        std::vector<std::int64_t> due(size);
        for (std::size_t i = 0; i < size; ++i)
            due[i] = at + static_cast<std::int64_t>(all.ahead * 1e9) +
                     static_cast<std::int64_t>(i) * 100 * TW_MILLISECOND / static_cast<std::int64_t>(size);
        const std::int64_t before = wall_now();
        one.put(due, size);
        slowest = std::max(slowest, wall_now() - before);
    }
    return static_cast<double>(slowest) / 1e6;
}

double quantile_99(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() * 99 / 100];
}

// A job that has not run when `patience` ends counts with a lateness of `patience`. With the workload
// `reader`, whose reader run.sh opens, the line tells of the first and the last fifth of the jobs.
void lateness(const options &all) {
    peer one(all);
    one.start();
    const double slowest_put = put_at_pace(one, all);
    const auto jobs = static_cast<std::size_t>(all.rate / 10) * static_cast<std::size_t>(all.seconds * 10);
    const auto begin = std::chrono::steady_clock::now();
    while (one.fires() < jobs && seconds_since(begin) < all.ahead + all.patience)
        usleep(10000);
    std::vector<double> late = one.late_ms();
    const std::size_t ran = late.size();
    late.resize(std::max(jobs, ran), 1e3 * all.patience);
    const auto fifth = static_cast<std::ptrdiff_t>(late.size() / 5);
    const double first = quantile_99({late.begin(), late.begin() + fifth});
    const double last = quantile_99({late.end() - fifth, late.end()});
    std::sort(late.begin(), late.end());
    print_head(all);
    std::printf(",\"first_p99_ms\":%.3f,\"last_p99_ms\":%.3f", first, last);
    std::printf(",\"jobs\":%zu,\"ran\":%zu,\"min_ms\":%.3f,\"p50_ms\":%.3f,\"p99_ms\":%.3f,\"max_ms\":%.3f,"
                "\"slowest_put_ms\":%.1f}\n",
                jobs, ran, late.front(), late[late.size() / 2], late[late.size() * 99 / 100], late.back(),
                slowest_put);
}

// With the default settings: jobs that are all due within one second.
void crowd(const options &all) {
    peer one(all, true);
    one.start();
    const auto jobs = static_cast<std::size_t>(all.jobs), batch = static_cast<std::size_t>(all.batch);
    const std::int64_t begin = wall_now() + static_cast<std::int64_t>(all.ahead * 1e9);
    for (std::size_t put = 0; put < jobs; put += batch) {
        std::vector<std::int64_t> due(std::min(batch, jobs - put));
        for (std::size_t i = 0; i < due.size(); ++i)
            due[i] = begin + static_cast<std::int64_t>((put + i) * TW_SECOND / jobs);
        one.put(due, due.size());
    }
    while (one.fires() < jobs && wall_now() < begin + static_cast<std::int64_t>(all.patience * 1e9))
        usleep(10000);
    std::vector<double> late = one.late_ms();
    const std::size_t ran = late.size();
    late.resize(std::max(jobs, ran), 1e3 * all.patience);
    std::sort(late.begin(), late.end());
    std::printf("{\"impl\":\"tickwheel\",\"workload\":\"crowd\",\"jobs\":%zu,\"ran\":%zu,\"p50_ms\":%.3f,"
                "\"p99_ms\":%.3f,\"max_ms\":%.3f}\n",
                jobs, ran, late[late.size() / 2], late[late.size() * 99 / 100], late.back());
}

void put_all(peer &one, const options &all) {
    const auto jobs = static_cast<std::size_t>(all.jobs), batch = static_cast<std::size_t>(all.batch);
    for (std::size_t i = 0; i < jobs; i += batch)
        one.put({}, std::min(batch, jobs - i));
}

// Waits until all jobs are done, or patience has ended. Returns how many are done.
std::size_t run_all(peer &one, const options &all) {
    const auto begin = std::chrono::steady_clock::now();
    const auto jobs = static_cast<std::size_t>(all.jobs);
    while (one.fires() < jobs && seconds_since(begin) < all.patience)
        usleep(2000);
    std::int64_t left;
    while ((left = one.left()) > 0 && seconds_since(begin) < all.patience)
        usleep(2000);
    return jobs - static_cast<std::size_t>(left);
}

void throughput(const options &all) {
    double puts, fires, overlapped;
    std::size_t done, done_overlapped;
    {
        peer one(all);
        auto begin = std::chrono::steady_clock::now();
        put_all(one, all);
        puts = seconds_since(begin);
        begin = std::chrono::steady_clock::now();
        one.start();
        done = run_all(one, all);
        fires = seconds_since(begin);
    }
    {
        peer one(all);
        one.start();
        sleep(1);
        const auto begin = std::chrono::steady_clock::now();
        put_all(one, all);
        done_overlapped = run_all(one, all);
        overlapped = seconds_since(begin);
    }
    print_head(all);
    std::printf(",\"jobs\":%.0f,\"batch\":%.0f,\"ran\":%zu,\"puts_per_s\":%.0f,\"fires_per_s\":%.0f,"
                "\"both_per_s\":%.0f,\"overlapped_per_s\":%.0f}\n",
                all.jobs, all.batch, std::min(done, done_overlapped), all.jobs / puts,
                static_cast<double>(done) / fires, static_cast<double>(done) / (puts + fires),
                static_cast<double>(done_overlapped) / overlapped);
}

// How many writes of a page, one after the other, the disk of a SQLite file makes in a second; 0 for a
// server.
double syncs_per_second(const char *address) {
    if (std::strncmp(address, "sqlite:", 7) != 0)
        return 0;
    const std::string path = std::string(address + 7) + ".sync";
    const int file = open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    const char page[4096] = {};
    int count = 0;
    const auto begin = std::chrono::steady_clock::now();
    for (; seconds_since(begin) < 1; ++count)
        if (pwrite(file, page, sizeof page, count * std::int64_t{sizeof page}) < 0 || fdatasync(file) != 0)
            die("the disk cannot be measured");
    close(file);
    unlink(path.c_str());
    return count / seconds_since(begin);
}

// How many puts a second a database takes, one in each transaction and 100 in each, compared with the writes
// that its disk makes.
void puts(const options &all) {
    peer one(all);
    const auto per_second = [&](std::size_t count, std::size_t batch) {
        const std::vector<std::int64_t> due(batch, wall_now() + 86400 * TW_SECOND);
        const auto begin = std::chrono::steady_clock::now();
        for (std::size_t i = 0; i < count; i += batch)
            one.put(due, batch);
        return static_cast<double>(count) / seconds_since(begin);
    };
    const double single = per_second(2000, 1), batched = per_second(100000, 100);
    const double syncs = syncs_per_second(all.address);
    print_head(all);
    std::printf(",\"single_per_s\":%.0f,\"batched_per_s\":%.0f", single, batched);
    if (syncs > 0)
        std::printf(",\"syncs_per_s\":%.0f,\"single_per_sync\":%.2f,\"batched_per_sync\":%.1f", syncs,
                    single / syncs, batched / syncs);
    std::printf("}\n");
}

options parse(int count, char **arguments) {
    options all;
    const struct {
        const char *name;
        double *value;
    } numbers[] = {{"--rate", &all.rate}, {"--seconds", &all.seconds}, {"--ahead", &all.ahead},
                   {"--jobs", &all.jobs}, {"--batch", &all.batch},     {"--patience", &all.patience}};
    if (count < 3 || count % 2 == 0)
        die("takes ADDRESS lateness|reader|crowd|throughput|puts [--rate N] [--seconds S] [--ahead S] "
            "[--jobs N] [--batch "
            "N] "
            "[--patience S]");
    all.address = arguments[1];
    all.workload = arguments[2];
    for (int i = 3; i < count; i += 2) {
        const auto found = std::find_if(std::begin(numbers), std::end(numbers), [&](const auto &number) {
            return std::strcmp(number.name, arguments[i]) == 0;
        });
        if (found == std::end(numbers))
            die("unknown option");
        *found->value = std::atof(arguments[i + 1]);
    }
    return all;
}

}  // namespace

int main(int count, char **arguments) {
    const options all = parse(count, arguments);
    if (std::strcmp(all.workload, "lateness") == 0 || std::strcmp(all.workload, "reader") == 0)
        lateness(all);
    else if (std::strcmp(all.workload, "crowd") == 0)
        crowd(all);
    else if (std::strcmp(all.workload, "throughput") == 0)
        throughput(all);
    else if (std::strcmp(all.workload, "puts") == 0)
        puts(all);
    else
        die("the workload is lateness, reader, crowd, throughput or puts");
    return 0;
}
