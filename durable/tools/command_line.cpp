// See command_line.hpp.
#include "command_line.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <set>
#include <string_view>

#include "bad_usage.hpp"
#include "moments.hpp"
#include "plain.hpp"

namespace tickwheel::jobs {

const char help[] =
    "usage: tickwheel-jobs VERB [--database ADDRESS] [--schema NAME] ...\n"
    "Shows and changes durable timers, called jobs, which programs keep in a database with\n"
    "tickwheel/durable.h.\n"
    "\n"
    "  list [KIND]         lists jobs: names, due times and states\n"
    "  count [KIND]        prints the number of jobs\n"
    "      --state STATE   only pending, held, started, failed, given_up or waiting jobs; may be repeated.\n"
    "                      Periodic jobs are given_up if their last due time has used up its tries. Waiting\n"
    "                      jobs wait for a group\n"
    "      --group GROUP   only jobs of this group\n"
    "      --late          only jobs that are due and not started, the longest overdue first\n"
    "      --older-than DURATION   only jobs that have been due for longer; without --state as --late\n"
    "      --sort ORDER    list: by name, or by due, the time at which jobs are due or tried again (name)\n"
    "      --after KEY     list: only keys that sort after this one; needs a KIND, and the order of names\n"
    "      --limit N       list: at most this many (all; at a terminal 1000)\n"
    "      --json          list, get: as JSON\n"
    "  kinds               of each kind: how many are late and for how long, held, started, failed, and how "
    "many\n"
    "                      processes handle it\n"
    "  members             the processes that handle jobs: their leases, jobs, kinds and clocks; alive: the "
    "lease\n"
    "                      lasts, up to 3 min after a crash; silent: its lease has ended\n"
    "  get KIND KEY        shows everything about one job\n"
    "  why KIND KEY        says in a sentence why a job has not run\n"
    "  put KIND KEY        puts a job, or replaces the one of this name; fires at once without a time\n"
    "      --in DURATION   due after this time: 250ms, 3min, 1h30min\n"
    "      --at TIME       due at this time: 2026-12-24T18:00:00Z, 2026-12-24T19:00:00+01:00\n"
    "      --every DURATION   periodic; first due after one period, or at the time of --in or --at\n"
    "      --cron EXPRESSION  periodic: \"30 9 * * mon-fri\"\n"
    "      --zone ZONE     the time zone of the expression: Europe/Berlin (UTC)\n"
    "      --missed WHAT   periodic: what to do with missed due times: coalesce, burst, skip (coalesce)\n"
    "      --grace DURATION   periodic: a due time is missed if it is late by more than this (1s)\n"
    "      --group GROUP   the job belongs to this group\n"
    "      --waits-for GROUP   the job waits until no job of this group is left\n"
    "      --within DURATION   replacing the job again and again makes it due no later than this after the "
    "first "
    "put\n"
    "      --payload TEXT, --payload-file FILE   what the handler receives; - is the standard input\n"
    "      --keep          changes nothing if there is a job of this name\n"
    "  fire KIND KEY       makes a job fire now, also one that has failed or waits for its next try; a "
    "periodic\n"
    "                      job keeps its schedule\n"
    "  remove KIND KEY     removes a job\n"
    "  remove [KIND]       removes all jobs that --state, --group, --late, --older-than select; asks, or "
    "takes "
    "--yes\n"
    "  requeue [KIND [KEY]]   makes failed jobs fire again, at once, without asking; takes --group, "
    "--older-than\n"
    "      --dry-run       remove, requeue: lists the jobs and changes nothing\n"
    "  watch [KIND]        shows late, started and failed jobs every second; q quits\n"
    "      --seconds S     time between two updates (1)\n"
    "      --once          prints once and exits\n"
    "  report FILE.html    writes a page for a browser: late, running and failed jobs, and the next day\n"
    "  metrics             prints the counts in the text format of Prometheus\n"
    "  setup               creates the tables, or upgrades those of an earlier release\n"
    "      --role ROLE     PostgreSQL: also grants this role the rights that a process needs, and no others\n"
    "\n"
    "  --database ADDRESS  sqlite:PATH or postgresql://...; or the environment variable TICKWHEEL_DATABASE,\n"
    "                      which keeps a password out of the list of processes\n"
    "  --schema NAME       where the tables are (tickwheel)\n"
    "  --                  ends the options, for names that begin with -\n"
    "\n"
    "Exit status: 0 if all is well; 1 if the database has failed; 2 if the command line is wrong;\n"
    "3 if there is no such job.\n";

namespace {

struct verb_rule {
    std::string_view name;
    std::size_t least, most;  // number of names after the verb
};
constexpr verb_rule verbs[] = {{"list", 0, 1},    {"count", 0, 1},   {"kinds", 0, 0}, {"get", 2, 2},
                               {"why", 2, 2},     {"members", 0, 0}, {"put", 2, 2},   {"fire", 2, 2},
                               {"remove", 0, 2},  {"requeue", 0, 2}, {"watch", 0, 1}, {"report", 1, 1},
                               {"metrics", 0, 0}, {"setup", 0, 0}};

constexpr unsigned of(verb one) { return 1u << static_cast<unsigned>(one); }
constexpr unsigned any = ~0u, filtered = of(verb::list) | of(verb::count) | of(verb::remove);

using text = const std::string &;

unsigned state_named(text name) {
    constexpr std::string_view names[] = {"pending", "held", "started", "failed", "given_up", "waiting"};
    for (unsigned i = 0; i < std::size(names); ++i)
        if (name == names[i])
            return 1u << i;
    throw bad_usage("--state " + plain(name) + ": it is pending, held, started, failed, given_up or waiting");
}
static_assert(TW_DURABLE_PENDING == 1 && TW_DURABLE_HELD == 2 && TW_DURABLE_STARTED == 4 &&
              TW_DURABLE_FAILED == 8 && TW_DURABLE_GIVEN_UP == 16 && TW_DURABLE_WAITING == 32);

tw_durable_missed missed_named(text name) {
    constexpr std::string_view names[] = {"coalesce", "burst", "skip"};
    for (unsigned i = 0; i < 3; ++i)
        if (name == names[i])
            return static_cast<tw_durable_missed>(i);
    throw bad_usage("--missed " + plain(name) + ": it is coalesce, burst or skip");
}
static_assert(TW_DURABLE_COALESCE == 0 && TW_DURABLE_BURST == 1 && TW_DURABLE_SKIP == 2);

template <class Number> std::optional<Number> number_in(text word) {
    Number value = 0;
    const char *const last = word.data() + word.size();
    const auto [end, error] = std::from_chars(word.data(), last, value);
    if (word.empty() || error != std::errc() || end != last)
        return std::nullopt;
    return value;
}

std::size_t read_limit(text word) {
    const std::optional<std::size_t> limit = number_in<std::size_t>(word);
    if (!limit || *limit == 0)
        throw bad_usage("--limit " + plain(word) + ": it is a number of at least 1");
    return *limit;
}

std::int64_t read_seconds(text word) {
    const std::optional<double> seconds = number_in<double>(word);
    if (!seconds || !(*seconds >= 0.05 && *seconds <= 3600))
        throw bad_usage("--seconds " + plain(word) + ": it is 0.05 .. 3600");
    return static_cast<std::int64_t>(*seconds * static_cast<double>(TW_SECOND));
}

bool read_order(text word) {
    if (word != "name" && word != "due")
        throw bad_usage("--sort " + plain(word) + ": it is name or due");
    return word == "due";
}

struct option_rule {
    std::string_view name;
    unsigned verbs;  // that take this option
    bool has_value;
    void (*set)(options &, text value);
};
constexpr option_rule rules[] = {
    {"--database", any, true, [](options &o, text value) { o.database = value; }},
    {"--schema", any, true, [](options &o, text value) { o.schema = value; }},
    {"--late", filtered, false, [](options &o, text) { o.late = true; }},
    {"--older-than", filtered | of(verb::requeue), true,
     [](options &o, text value) { o.older_than_ns = read_duration("--older-than", value); }},
    {"--sort", of(verb::list), true, [](options &o, text value) { o.by_due = read_order(value); }},
    {"--dry-run", of(verb::remove) | of(verb::requeue), false, [](options &o, text) { o.dry_run = true; }},
    {"--yes", of(verb::remove), false, [](options &o, text) { o.yes = true; }},
    {"--state", filtered, true, [](options &o, text value) { o.states |= state_named(value); }},
    {"--group", filtered | of(verb::requeue) | of(verb::put), true,
     [](options &o, text value) { o.group = value; }},
    {"--waits-for", of(verb::put), true, [](options &o, text value) { o.waits_for = value; }},
    {"--within", of(verb::put), true,
     [](options &o, text value) { o.within_ns = read_duration("--within", value); }},
    {"--after", of(verb::list), true, [](options &o, text value) { o.after = value; }},
    {"--limit", of(verb::list), true, [](options &o, text value) { o.limit = read_limit(value); }},
    {"--json", of(verb::list) | of(verb::get), false, [](options &o, text) { o.json = true; }},
    {"--in", of(verb::put), true, [](options &o, text value) { o.in_ns = read_duration("--in", value); }},
    {"--at", of(verb::put), true, [](options &o, text value) { o.at_ns = read_time("--at", value); }},
    {"--every", of(verb::put), true,
     [](options &o, text value) { o.every_ns = read_duration("--every", value); }},
    {"--cron", of(verb::put), true, [](options &o, text value) { o.cron = value; }},
    {"--zone", of(verb::put), true, [](options &o, text value) { o.zone = value; }},
    {"--missed", of(verb::put), true, [](options &o, text value) { o.missed = missed_named(value); }},
    {"--grace", of(verb::put), true,
     [](options &o, text value) { o.grace_ns = read_duration("--grace", value); }},
    {"--payload", of(verb::put), true, [](options &o, text value) { o.payload = value; }},
    {"--payload-file", of(verb::put), true, [](options &o, text value) { o.payload_file = value; }},
    {"--keep", of(verb::put), false, [](options &o, text) { o.keep = true; }},
    {"--role", of(verb::setup), true, [](options &o, text value) { o.role = value; }},
    {"--seconds", of(verb::watch), true,
     [](options &o, text value) { o.every_look_ns = read_seconds(value); }},
    {"--once", of(verb::watch), false, [](options &o, text) { o.once = true; }},
};

// The words of a command line: the options with their values, and the other words.
struct sorted_words {
    struct given {
        const option_rule *rule;
        std::string value;
    };
    std::vector<given> options;
    std::vector<std::string> others;
};

const option_rule &rule_named(std::string_view name) {
    for (const option_rule &each : rules)
        if (each.name == name)
            return each;
    throw bad_usage("there is no option " + plain(name));
}

sorted_words sort(const std::vector<std::string> &words) {
    sorted_words all;
    bool takes_options = true;
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string &word = words[i];
        if (!takes_options || word.size() < 2 || word[0] != '-') {
            all.others.push_back(word);
            continue;
        }
        if (word == "--") {
            takes_options = false;
            continue;
        }
        const std::size_t sign = word.find('=');
        const option_rule &rule = rule_named(word.substr(0, sign));
        const bool has_value = sign != std::string::npos;
        if (has_value && !rule.has_value)
            throw bad_usage(std::string(rule.name) + " takes no value");
        if (rule.has_value && !has_value && i + 1 == words.size())
            throw bad_usage(std::string(rule.name) + " takes a value");
        all.options.push_back({&rule, has_value ? word.substr(sign + 1) : rule.has_value ? words[++i] : ""});
    }
    return all;
}

verb verb_named(const std::string &name) {
    for (unsigned i = 0; i < std::size(verbs); ++i)
        if (verbs[i].name == name)
            return static_cast<verb>(i);
    throw bad_usage("there is no verb " + plain(name));
}

void set_names(options &o, const std::vector<std::string> &words) {
    const verb_rule &rule = verbs[static_cast<unsigned>(o.what)];
    const std::size_t names = words.size() - 1;
    const std::string verb(rule.name);
    if (names < rule.least)
        throw bad_usage(verb + (o.what == verb::report ? " takes a file" : " takes a kind and a key"));
    if (names > rule.most)
        throw bad_usage(verb + ": unexpected argument: " + plain(words[rule.most + 1]));
    if (o.what == verb::report)
        o.file = words[1];
    else if (names > 0)
        o.kind = words[1];
    if (names > 1)
        o.key = words[2];
}

void set_options(options &o, const std::vector<sorted_words::given> &given) {
    std::set<std::string_view> seen;
    for (const sorted_words::given &each : given) {
        const std::string name(each.rule->name);
        if ((each.rule->verbs & of(o.what)) == 0)
            throw bad_usage(name + " does not go with " +
                            std::string(verbs[static_cast<unsigned>(o.what)].name));
        if (!seen.insert(each.rule->name).second && name != "--state")
            throw bad_usage(name + " is given twice");
        each.rule->set(o, each.value);
    }
}

void check_selection(const options &o) {
    if (o.after && !o.kind)
        throw bad_usage("--after goes with a kind");
    if (o.after && (o.late || o.older_than_ns || o.by_due))
        throw bad_usage("--after goes with the order of names");
    if (o.key && o.what != verb::put && (o.has_filter() || o.dry_run || o.yes))
        throw bad_usage("--state, --group, --late, --older-than, --dry-run and --yes go without a key");
    if (o.what == verb::remove && !o.key && !o.kind && !o.has_filter())
        throw bad_usage("remove takes a kind and a key, or says which jobs");
}

void check_schedule(const options &o) {
    const bool is_periodic = o.every_ns || o.cron;
    if (o.in_ns && o.at_ns)
        throw bad_usage("--in or --at, not both");
    if (o.cron && (o.in_ns || o.at_ns || o.every_ns))
        throw bad_usage("--cron goes without --in, --at and --every");
    if (o.zone && !o.cron)
        throw bad_usage("--zone goes with --cron");
    if (o.every_ns && *o.every_ns < TW_MILLISECOND)
        throw bad_usage("--every: the shortest period is 1ms");
    if ((o.grace_ns || o.missed != TW_DURABLE_COALESCE) && !is_periodic)
        throw bad_usage("--missed and --grace go with --every or --cron");
    if (o.grace_ns && *o.grace_ns == 0)
        throw bad_usage("--grace: it is at least 1us");
}

void check(const options &o) {
    check_selection(o);
    check_schedule(o);
    if (o.payload && o.payload_file)
        throw bad_usage("--payload or --payload-file, not both");
    if (!o.database)
        throw bad_usage("no database is given: use --database ADDRESS, or set TICKWHEEL_DATABASE");
}

}  // namespace

options read_options(const std::vector<std::string> &words) {
    const sorted_words sorted = sort(words);
    if (sorted.others.empty())
        throw bad_usage("no verb: list, count, kinds, members, get, why, put, fire, remove, requeue, watch, "
                        "report, metrics or setup");
    options o;
    o.what = verb_named(sorted.others[0]);
    set_names(o, sorted.others);
    set_options(o, sorted.options);
    const char *const from_environment = std::getenv("TICKWHEEL_DATABASE");  // NOLINT(concurrency-mt-unsafe)
    if (!o.database && from_environment != nullptr && *from_environment != 0)
        o.database = from_environment;
    check(o);
    return o;
}

}  // namespace tickwheel::jobs
