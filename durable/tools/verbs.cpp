// See verbs.hpp. watch has its own file.
#include "verbs.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>

#include <tickwheel/durable_store.h>

#include "bad_usage.hpp"
#include "entry.hpp"
#include "open_database.hpp"
#include "plain.hpp"
#include "table.hpp"

namespace tickwheel::jobs {

namespace {

constexpr std::size_t most_rows = 1000;         // at a terminal, unless --limit says otherwise
constexpr std::size_t widest_at_terminal = 40;  // of a cell

const char *text_of(const std::optional<std::string> &text) { return text ? text->c_str() : nullptr; }

int no_job(const options &o) {
    std::fprintf(stderr, "tickwheel-jobs: there is no %sjob %s of kind %s\n",
                 o.what == verb::requeue ? "failed " : "", plain(*o.key).c_str(), plain(*o.kind).c_str());
    return no_such_job;
}

// A reader that has gone, as `head` does, ends a long list.
void check_output() {
    if (std::ferror(stdout) != 0)
        throw std::runtime_error(std::strerror(errno));
}

int list_as_json(const connection &to, const options &o) {
    const char *before = "[\n";
    to.list_in_pages(
        filter_of(o, to.now()), o.limit.value_or(SIZE_MAX),
        [&](const tw_durable_entry &entry) {
            std::printf("%s%s", before, json_of(entry).c_str());
            before = ",\n";
        },
        check_output);
    const bool is_empty = *before == '[';
    std::puts(is_empty ? "[]" : "\n]");
    if (is_empty)
        warn_of_unknown_kind(to, o);
    return all_is_well;
}

void print(const std::vector<std::string> &lines) {
    for (const std::string &line : lines)
        std::puts(line.c_str());
    check_output();
}

// Lists at most `most` jobs. Returns how many there are, or `most` + 1 if there are more.
std::size_t print_jobs(const connection &to, const options &o, std::size_t most) {
    const std::size_t widest = ::isatty(STDOUT_FILENO) != 0 ? widest_at_terminal : SIZE_MAX;
    const std::int64_t now = to.now();
    table shown(heads());
    std::size_t rows = 0;
    to.list_in_pages(
        filter_of(o, now), most != SIZE_MAX ? most + 1 : most,
        [&](const tw_durable_entry &entry) {
            if (++rows <= most)
                shown.add(row(entry, now, widest));
        },
        [&] { print(shown.next_lines()); });
    return rows;
}

int list_as_table(const connection &to, const options &o) {
    const std::size_t most = o.limit.value_or(::isatty(STDOUT_FILENO) != 0 ? most_rows : SIZE_MAX);
    const std::size_t found = print_jobs(to, o, most);
    if (found == 0 && !warn_of_unknown_kind(to, o))
        say_at_terminal("there are no such jobs");
    if (found > most && !o.limit)
        std::fprintf(stderr,
                     "tickwheel-jobs: there are more than %zu; pipe the list to see all, or give --limit\n",
                     most);
    return all_is_well;
}

std::string read_payload(const std::string &path) {
    const bool is_input = path == "-";
    const std::unique_ptr<std::FILE, int (*)(std::FILE *)> file(
        is_input ? stdin : std::fopen(path.c_str(), "rbe"), is_input ? std::fflush : std::fclose);
    std::string bytes(TW_DURABLE_PAYLOAD_MAX + 1, '\0');
    if (file != nullptr)
        bytes.resize(std::fread(bytes.data(), 1, bytes.size(), file.get()));
    if (file == nullptr || std::ferror(file.get()) != 0)
        throw bad_usage("--payload-file " + plain(path) + ": " + std::strerror(errno));
    return bytes;
}

// The result points into `o` and `payload`.
tw_durable_job job_of(const options &o, const std::string &payload) {
    tw_durable_job job = {};
    job.kind = o.kind->c_str();
    job.key = o.key->c_str();
    job.payload = payload.data();
    job.size = payload.size();
    job.absolute = o.at_ns ? 1 : 0;
    job.due_ns = o.at_ns ? *o.at_ns : o.in_ns.value_or(o.every_ns.value_or(0));
    job.period_ns = o.every_ns.value_or(0);
    job.cron = text_of(o.cron);
    job.zone = text_of(o.zone);
    job.missed = o.missed;
    job.grace_ns = o.grace_ns.value_or(0);
    job.group = text_of(o.group);
    job.waits_for = text_of(o.waits_for);
    job.within_ns = o.within_ns.value_or(0);
    return job;
}

// A database that has no jobs, stores none and accepts all.
tw_store nothing() {
    tw_store store = {};
    store.scheme = "nothing";
    store.open = [](void **, const tw_store_place *, char *, std::size_t) { return 0; };
    store.now = [](void *, std::int64_t *now_ns) {
        *now_ns = 0;
        return 0;
    };
    store.put = [](void *, tw_store_put *, std::size_t, int, const tw_store_member *) { return 0; };
    store.remove = [](void *, const char *, const char *) { return 0; };
    store.count = [](void *, const tw_durable_filter *) -> std::int64_t { return 0; };
    return store;
}

}  // namespace

bool warn_of_unknown_kind(const connection &to, const options &o) {
    if (!o.kind || to.knows_kind(*o.kind))
        return false;
    std::fprintf(stderr, "tickwheel-jobs: there are no jobs of kind %s, and no process handles this kind\n",
                 plain(*o.kind).c_str());
    return true;
}

void say_at_terminal(const char *why) {
    if (::isatty(STDERR_FILENO) != 0)
        std::fprintf(stderr, "tickwheel-jobs: %s\n", why);
}

// --late and --older-than select by the time at which jobs are ready.
tw_durable_filter filter_of(const options &o, std::int64_t now_ns) {
    tw_durable_filter filter = {};
    const bool is_late = o.late || o.older_than_ns;
    filter.kind = text_of(o.kind);
    filter.states = o.states != 0 || !is_late
                        ? o.states
                        : unsigned{TW_DURABLE_PENDING | TW_DURABLE_GIVEN_UP | TW_DURABLE_HELD};
    filter.group = text_of(o.group);
    filter.after = text_of(o.after);
    filter.limit = o.limit.value_or(0);
    if (is_late)
        filter.ready_before_ns = std::max<std::int64_t>(now_ns - o.older_than_ns.value_or(0), 1);
    else if (o.by_due)
        filter.ready_before_ns = TW_NO_DEADLINE;
    if (o.what == verb::requeue)
        filter.states = TW_DURABLE_FAILED;
    return filter;
}

// The library rejects malformed names, times and schedules before it asks a database. So a database that
// accepts everything shows whether the words are right. If the user's database then rejects them, that is a
// database error.
void check_words(const options &o, const tw_durable_job *job) {
    tw_durable_options c = {};
    c.schema = text_of(o.schema);
    const tw_store store = nothing();
    c.store = &store;
    tw_durable *empty = nullptr;
    std::int64_t result = tw_durable_open(&empty, nullptr, "nothing:", &c);
    if (result == 0 && job != nullptr) {
        result = tw_durable_put(empty, job, TW_DURABLE_KEEP);
    } else if (result == 0 && o.key) {
        result = tw_durable_cancel(empty, o.kind->c_str(), o.key->c_str());
    } else if (result == 0) {
        const tw_durable_filter filter = filter_of(o, 0);
        result = tw_durable_count(empty, &filter);
    }
    const std::string why = tw_durable_explain(static_cast<int>(result));
    tw_durable_close(empty);
    if (result == -EINVAL)
        throw bad_usage(plain(why));
}

int list(const options &o) {
    check_words(o, nullptr);
    const connection to(o);
    return o.json ? list_as_json(to, o) : list_as_table(to, o);
}

int count(const options &o) {
    check_words(o, nullptr);
    const connection to(o);
    const tw_durable_filter filter = filter_of(o, to.now());
    const std::int64_t found = check(tw_durable_count(to.get(), &filter));
    std::printf("%" PRId64 "\n", found);
    if (found == 0)
        warn_of_unknown_kind(to, o);
    return all_is_well;
}

int get(const options &o) {
    check_words(o, nullptr);
    const connection to(o);
    const std::int64_t now = to.now();
    const bool is_there = to.find(*o.kind, *o.key, [&](const tw_durable_entry &entry) {
        std::fputs(o.json ? (json_of(entry) + '\n').c_str() : described(entry, now).c_str(), stdout);
    });
    return is_there ? all_is_well : no_job(o);
}

int put(const options &o) {
    const std::string payload = o.payload_file ? read_payload(*o.payload_file) : o.payload.value_or("");
    if (payload.size() > TW_DURABLE_PAYLOAD_MAX)
        throw bad_usage("the payload has more than 65536 bytes");
    const tw_durable_job job = job_of(o, payload);
    check_words(o, &job);
    const connection to(o);
    const int result = tw_durable_put(to.get(), &job, o.keep ? TW_DURABLE_ADD : TW_DURABLE_REPLACE);
    const bool is_kept = result == -EEXIST;
    if (!is_kept)
        check(result);
    std::puts(is_kept ? "kept the existing job" : "put");
    return all_is_well;
}

int fire(const options &o) {
    check_words(o, nullptr);
    const connection to(o);
    const int result = tw_durable_fire_now(to.get(), o.kind->c_str(), o.key->c_str());
    if (result == -ENOENT)
        return no_job(o);
    std::puts(check(result) == 1 ? "fires now"
                                 : "nothing has changed: its handler was started, and may be running");
    return all_is_well;
}

int why(const options &o) {
    check_words(o, nullptr);
    const connection to(o);
    std::string text(4096, '\0');
    const int result = tw_durable_why(to.get(), o.kind->c_str(), o.key->c_str(), text.data(), text.size());
    if (result != -ENOENT)
        check(result);
    std::puts(plain(text.c_str()).c_str());
    return result == -ENOENT ? no_such_job : all_is_well;
}

namespace {

// Asks whoever sits at the terminal.
bool agrees(const std::string &question) {
    if (::isatty(STDIN_FILENO) == 0)
        throw bad_usage("many jobs at once: use --dry-run to see which, and --yes to remove them");
    std::printf("%s [y/N] ", question.c_str());
    std::fflush(stdout);
    const int first = std::getchar();
    return first == 'y' || first == 'Y';
}

// Lists the jobs that a change would change.
int show_only(const connection &to, const options &o, const char *what) {
    const tw_durable_filter filter = filter_of(o, to.now());
    const std::int64_t count = check(tw_durable_count(to.get(), &filter));
    print_jobs(to, o, SIZE_MAX);
    std::printf("%s%" PRId64 " would be %s\n", count != 0 ? "\n" : "", count, what);
    if (count == 0)
        warn_of_unknown_kind(to, o);
    return all_is_well;
}

int remove_many(const connection &to, const options &o) {
    if (o.dry_run)
        return show_only(to, o, "removed");
    const tw_durable_filter filter = filter_of(o, to.now());
    if (!o.yes) {
        const std::int64_t count = check(tw_durable_count(to.get(), &filter));
        if (count != 0 && !agrees("remove " + std::to_string(count) + (count == 1 ? " job?" : " jobs?"))) {
            std::puts("nothing removed");
            return all_is_well;
        }
    }
    const std::int64_t removed = check(tw_durable_cancel_many(to.get(), &filter));
    std::printf("%" PRId64 " removed\n", removed);
    if (removed == 0)
        warn_of_unknown_kind(to, o);
    return all_is_well;
}

}  // namespace

int remove(const options &o) {
    check_words(o, nullptr);
    const connection to(o);
    if (!o.key)
        return remove_many(to, o);
    const int result = tw_durable_cancel(to.get(), o.kind->c_str(), o.key->c_str());
    if (result == -ENOENT)
        return no_job(o);
    std::puts(check(result) == 1 ? "removed" : "removed; its handler was started, and may be running");
    return all_is_well;
}

int requeue(const options &o) {
    check_words(o, nullptr);
    const connection to(o);
    if (o.dry_run)
        return show_only(to, o, "requeued");
    const tw_durable_filter filter = filter_of(o, to.now());
    const std::int64_t result = o.key ? tw_durable_requeue(to.get(), text_of(o.kind), text_of(o.key))
                                      : tw_durable_requeue_many(to.get(), &filter);
    if (result == -ENOENT)
        return no_job(o);
    std::printf("%" PRId64 " requeued\n", check(result));
    if (result == 0)
        warn_of_unknown_kind(to, o);
    return all_is_well;
}

int setup(const options &o) {
    const connection to(o);
    std::puts(o.role ? ("the tables are there, and " + plain(*o.role) + " can use them").c_str()
                     : "the tables are there");
    return all_is_well;
}

}  // namespace tickwheel::jobs
