// The verb report: a page for a browser, in one file, that needs no scripts and loads nothing. Texts from the
// database are escaped twice: `plain` makes control characters visible, `html` those of HTML.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <set>
#include <stdexcept>
#include <tuple>

#include <tickwheel/calendar.h>

#include "census.hpp"
#include "entry.hpp"
#include "moments.hpp"
#include "page_style.hpp"
#include "plain.hpp"
#include "verbs.hpp"

namespace tickwheel::jobs {

namespace {

constexpr std::int64_t hour = 3600 * TW_SECOND;
constexpr std::size_t hours = 24, most_listed = 50, most_reasons = 8, most_periodic = 20'000,
                      most_colours = 6;
constexpr std::size_t widest = 60, widest_sentence = 400;  // columns of a text

std::string html(const std::string &text, std::size_t most = widest) {
    std::string all;
    for (const char each : cut(plain(text), most))
        switch (each) {
        case '&':
            all += "&amp;";
            break;
        case '<':
            all += "&lt;";
            break;
        case '>':
            all += "&gt;";
            break;
        case '"':
            all += "&quot;";
            break;
        case '\'':
            all += "&#39;";
            break;
        default:
            all += each;
        }
    return all;
}

std::string html(const char *text) { return text != nullptr ? html(std::string(text)) : ""; }

std::string in(const char *tag, const std::string &content) {
    return std::string("<") + tag + ">" + content + "</" +
           std::string(tag).substr(0, std::strcspn(tag, " ")) + ">";
}

// A table whose cells stand below one another on a narrow screen, each with the head of its column. Leaves
// out a column without content.
class html_table {
  public:
    explicit html_table(std::vector<const char *> heads)
        : heads_(std::move(heads)), is_used_(heads_.size()) {}

    // Escaped texts.
    void add(std::vector<std::string> cells) {
        for (std::size_t i = 0; i < cells.size(); ++i)
            is_used_[i] = is_used_[i] || !cells[i].empty();
        rows_.push_back(std::move(cells));
    }

    std::string text() const {
        std::string all = "<table><thead><tr>";
        for (std::size_t i = 0; i < heads_.size(); ++i)
            all += is_used_[i] ? in("th scope=col", heads_[i]) : "";
        all += "</tr></thead>\n<tbody>\n";
        for (const std::vector<std::string> &row : rows_) {
            all += "<tr>";
            for (std::size_t i = 0; i < heads_.size(); ++i)
                if (is_used_[i])
                    all += std::string("<td data-head=\"") + heads_[i] + "\"" +
                           (row[i].empty() ? " class=none" : "") + ">" + row[i] + "</td>";
            all += "</tr>\n";
        }
        return all + "</tbody></table>\n";
    }
    bool is_empty() const { return rows_.empty(); }

  private:
    std::vector<const char *> heads_;
    std::vector<bool> is_used_;
    std::vector<std::vector<std::string>> rows_;
};

std::string section(const std::string &name, const std::string &content) {
    return "<section>" + in("h2", name) + "\n" + content + "</section>\n";
}

// The full hours after now.
std::vector<std::int64_t> next_hours(std::int64_t now_ns) {
    std::vector<std::int64_t> all;
    for (std::size_t i = 0; i < hours; ++i)
        all.push_back((now_ns / hour + 1 + static_cast<std::int64_t>(i)) * hour);
    return all;
}

// --- the next day --------------------------------------------------------------------------------

struct plan {
    std::string kind;
    std::array<std::uint64_t, hours> counts = {};
    std::uint64_t sum = 0;

    void add(std::size_t at, std::uint64_t count) {
        counts[at] += count;
        sum += count;
    }
};

struct free_calendar {
    void operator()(tw_calendar *dates) const { tw_calendar_free(dates); }
};

// How many due times of a periodic job follow its present one, in each hour.
void add_repeats(const tw_durable_entry &entry, const std::vector<std::int64_t> &until, plan &into) {
    const tw_durable_job &job = entry.job;
    std::unique_ptr<tw_calendar, free_calendar> dates;
    if (job.cron != nullptr) {
        tw_calendar *made = nullptr;
        const char *why = nullptr;
        if (tw_calendar_new(&made, job.cron, job.zone, &why) != 0)
            return;
        dates.reset(made);
    }
    std::int64_t from = std::max(job.due_ns, until[0] - hour);
    for (std::size_t i = 0; i < hours; ++i) {
        const std::int64_t to = until[i] - 1;
        if (to <= from)
            continue;
        into.add(i, dates != nullptr ? tw_calendar_count(dates.get(), from, to)
                                     : static_cast<std::uint64_t>((to - job.due_ns) / job.period_ns -
                                                                  (from - job.due_ns) / job.period_ns));
        from = to;
    }
}

// The jobs of the next day by kind, those with the most first. Notes whether some periodic jobs are missing.
std::vector<plan> plans_of(const connection &to, const census &all, const std::vector<std::int64_t> &until,
                           bool &is_cut) {
    std::vector<plan> plans;
    for (const kind_census &kind : all.kinds) {
        plan &added = plans.emplace_back();
        added.kind = kind.kind;
        for (std::size_t i = 0; i < hours; ++i)
            added.add(i, kind.ahead[i].least);
    }
    tw_durable_filter filter = {};
    filter.states = TW_DURABLE_PENDING | TW_DURABLE_GIVEN_UP | TW_DURABLE_HELD | TW_DURABLE_STARTED;
    filter.ready_before_ns = until.back();
    std::size_t seen = 0;
    to.list_in_pages(
        filter, most_periodic,
        [&](const tw_durable_entry &entry) {
            ++seen;
            const auto found = std::find_if(plans.begin(), plans.end(),
                                            [&](const plan &each) { return each.kind == entry.job.kind; });
            if (found != plans.end() && (entry.job.period_ns != 0 || entry.job.cron != nullptr))
                add_repeats(entry, until, *found);
        },
        [] {});
    is_cut = seen == most_periodic;
    std::erase_if(plans, [](const plan &each) { return each.sum == 0; });
    std::stable_sort(plans.begin(), plans.end(),
                     [](const plan &one, const plan &other) { return one.sum > other.sum; });
    return plans;
}

// The kinds with the fewest jobs share the last colour.
void join_last(std::vector<plan> &plans) {
    while (plans.size() > most_colours) {
        const plan last = plans.back();
        plans.pop_back();
        plan &into = plans[most_colours - 1];
        into.kind = "others";
        for (std::size_t i = 0; i < hours; ++i)
            into.add(i, last.counts[i]);
    }
}

std::string bars(const std::vector<plan> &plans, const std::vector<std::int64_t> &until,
                 std::uint64_t highest) {
    std::string all =
        "<svg viewBox=\"0 0 240 100\" preserveAspectRatio=none role=img aria-label=\"Jobs in each hour\">\n";
    for (std::size_t i = 0; i < hours; ++i) {
        double below = 0;
        for (std::size_t kind = 0; kind < plans.size(); ++kind) {
            const std::uint64_t count = plans[kind].counts[i];
            const double height = 100.0 * static_cast<double>(count) / static_cast<double>(highest);
            char rect[160];
            std::snprintf(rect, sizeof rect, "<rect class=c%zu x=%zu y=%.2f width=8 height=%.2f>", kind,
                          10 * i + 1, 100 - below - height, height);
            below += height;
            if (count != 0)
                all += rect +
                       in("title", local_time(until[i] - hour).substr(11, 5) + " " + html(plans[kind].kind) +
                                       ": " + std::to_string(count)) +
                       "</rect>\n";
        }
    }
    return all + "</svg>\n";
}

std::string next_day(const connection &to, const census &all, const std::vector<std::int64_t> &until) {
    bool is_cut = false;
    std::vector<plan> plans = plans_of(to, all, until, is_cut);
    if (plans.empty())
        return section("The next 24 hours", in("p class=calm", "Nothing is due."));
    join_last(plans);
    std::array<std::uint64_t, hours> sums = {};
    std::string legend, labels;
    for (std::size_t kind = 0; kind < plans.size(); ++kind) {
        for (std::size_t i = 0; i < hours; ++i)
            sums[i] += plans[kind].counts[i];
        legend += "<li><i class=c" + std::to_string(kind) + "></i>" + html(plans[kind].kind) + " " +
                  in("b", std::to_string(plans[kind].sum)) + "</li>\n";
    }
    for (std::size_t i = 0; i < hours; i += 3)
        labels += in("span", local_time(until[i] - hour).substr(11, 5));
    const std::uint64_t highest = *std::max_element(sums.begin(), sums.end());
    return section("The next 24 hours",
                   "<figure>" + in("p class=scale", std::to_string(highest)) + "\n" +
                       bars(plans, until, highest) + in("div class=hours", labels) +
                       "\n<figcaption><ul class=legend>\n" + legend + "</ul></figcaption></figure>\n" +
                       in("p class=note",
                          std::string("Jobs in each hour, by kind. A periodic job counts at each of its due "
                                      "times") +
                              (is_cut ? ", as far as it is among the first 20,000 jobs." : ".")));
}

// --- what stands out -----------------------------------------------------------------------------

std::string tile(const std::string &number, const char *name, const char *mood) {
    return std::string("<li class=") + mood + ">" + in("b", number) + in("span", name) + "</li>\n";
}

std::string tiles(const census &all) {
    const auto mood = [](std::uint64_t count, const char *bad) { return count != 0 ? bad : "calm"; };
    const kind_census &sum = all.sum;
    return "<ul class=tiles>\n" + tile(sum.late.text(), "late", mood(sum.late_a_minute.least, "bad")) +
           tile(sum.failed.text(), "failed", mood(sum.failed.least, "bad")) +
           tile(sum.given_up.text(), "given up", mood(sum.given_up.least, "warm")) +
           tile(std::to_string(sum.started), "running", "calm") +
           tile(sum.pending.text(), "pending", "calm") +
           tile(std::to_string(all.alive), all.alive == 1 ? "process" : "processes",
                all.alive == 0 ? "bad" : "calm") +
           "</ul>\n";
}

std::string warnings(const census &all) {
    std::string found;
    const auto warn = [&found](const std::string &text) { found += in("li", text) + "\n"; };
    if (all.alive == 0)
        warn("No process is alive to handle jobs.");
    std::string nobody;
    for (const kind_census &kind : all.kinds)
        if (all.nobody_handles(kind))
            nobody +=
                (nobody.empty() ? "" : ", ") + in("b", html(kind.kind)) + " (" + kind.waiting().text() + ")";
    if (all.alive != 0 && !nobody.empty())
        warn("Nobody handles " + nobody + ".");
    for (const member_census &each : all.members) {
        if (!each.is_alive)
            warn("The lease of " + in("b", html(each.name)) + " ended " +
                 relative(each.lease_end_ns, all.now_ns, "ago") + ".");
        else if (std::abs(each.clock_offset_ns) > TW_SECOND)
            warn("The clock of " + in("b", html(each.name)) + " was " +
                 duration(std::abs(each.clock_offset_ns)) +
                 (each.clock_offset_ns > 0 ? " ahead of" : " behind") + " the database's.");
    }
    return found.empty() ? "" : "<ul class=warnings>\n" + found + "</ul>\n";
}

// --- jobs and processes --------------------------------------------------------------------------

std::string reason_of(const connection &to, const std::string &kind, const std::string &key) {
    char text[1024] = "";
    const int result = tw_durable_why(to.get(), kind.c_str(), key.c_str(), text, sizeof text);
    return result == 0 ? html(std::string(text), widest_sentence) : "";
}

bool has_any(const kind_census &kind, unsigned states) {
    const auto asks = [states](tw_durable_state which) { return (states & which) != 0; };
    return (asks(TW_DURABLE_PENDING) && kind.pending.least != 0) ||
           (asks(TW_DURABLE_HELD) && kind.held != 0) || (asks(TW_DURABLE_STARTED) && kind.started != 0) ||
           (asks(TW_DURABLE_FAILED) && kind.failed.least != 0) ||
           (asks(TW_DURABLE_GIVEN_UP) && kind.given_up.least != 0);
}

struct listed_job {
    std::string kind, key;
    std::size_t rank;  // among those of its kind
    std::int64_t ready_ns;
    std::vector<std::string> cells;
};

// The jobs that are ready first, at most `most_listed`. The kinds share the rows, so that one kind's backlog
// does not hide the other kinds.
std::vector<listed_job> first_jobs(const connection &to, const census &all, unsigned states,
                                   std::int64_t before) {
    std::vector<listed_job> found;
    tw_durable_filter filter = {};
    filter.states = states;
    filter.ready_before_ns = before;
    filter.limit = most_listed;
    for (const kind_census &kind : all.kinds) {
        if (!has_any(kind, states))
            continue;
        filter.kind = kind.kind.c_str();
        std::size_t rank = 0;
        to.list(filter, [&](const tw_durable_entry &entry) {
            found.push_back(
                {entry.job.kind,
                 entry.job.key,
                 rank++,
                 entry.ready_ns,
                 {html(entry.job.kind), html(entry.job.key), local_time(entry.job.due_ns),
                  relative(entry.ready_ns, all.now_ns, states == TW_DURABLE_FAILED ? "ago" : "late"),
                  entry.attempts != 0 ? std::to_string(entry.attempts) : "",
                  html(entry.holder != nullptr ? entry.holder : entry.error)}});
        });
    }
    std::stable_sort(found.begin(), found.end(), [](const listed_job &one, const listed_job &other) {
        return std::tie(one.rank, one.ready_ns) < std::tie(other.rank, other.ready_ns);
    });
    if (found.size() > most_listed)
        found.erase(found.begin() + most_listed, found.end());
    std::stable_sort(found.begin(), found.end(), [](const listed_job &one, const listed_job &other) {
        return one.ready_ns < other.ready_ns;
    });
    return found;
}

// The first jobs; with reasons, the first of each kind says why.
std::string jobs(const connection &to, const census &all, const char *name, unsigned states,
                 std::int64_t before, const std::string &count, const char *last_head) {
    const bool with_reasons = last_head == std::string("Why");
    html_table shown({"Kind", "Key", "Due", "When", "Failed tries", last_head});
    std::vector<listed_job> found = first_jobs(to, all, states, before);
    std::set<std::string> explained;
    for (listed_job &each : found) {
        if (with_reasons && explained.size() < most_reasons && explained.insert(each.kind).second)
            each.cells.back() = reason_of(to, each.kind, each.key);
        shown.add(std::move(each.cells));
    }
    if (shown.is_empty())
        return "";
    return section(std::string(name) + " " + in("small", count),
                   shown.text() + (found.size() == most_listed
                                       ? in("p class=note", "50 of them: the first ones of each kind.") + "\n"
                                       : ""));
}

std::string kinds(const census &all) {
    html_table shown({"Kind", "Handled by", "Pending", "First", "Late", "Held", "Running", "Failed",
                      "Given up", "Waiting"});
    const auto number = [](std::uint64_t count) { return count != 0 ? std::to_string(count) : ""; };
    const auto some = [](const amount &count) { return count.least != 0 ? count.text() : ""; };
    for (const kind_census &each : all.kinds)
        shown.add({html(each.kind),
                   each.handled_by != 0
                       ? std::to_string(each.handled_by) + (each.handled_by == 1 ? " process" : " processes")
                   : all.all_tell_kinds ? "nobody"
                                        : "not known",
                   some(each.pending),
                   each.first_ready_ns != TW_NO_DEADLINE ? relative(each.first_ready_ns, all.now_ns) : "",
                   some(each.late), number(each.held), number(each.started), some(each.failed),
                   some(each.given_up), some(each.waiting)});
    return shown.is_empty() ? in("p class=calm", "There are no jobs.") + "\n"
                            : section("Kinds", shown.text());
}

std::string processes(const census &all) {
    html_table shown({"Process", "Lease", "Holds", "Runs", "Joined", "Handles"});
    for (const member_census &each : all.members) {
        std::string handled;
        for (const std::string &kind : each.kinds)
            handled += (handled.empty() ? "" : ", ") + html(kind);
        shown.add({html(each.name),
                   (each.is_alive ? "ends " : "ended ") + relative(each.lease_end_ns, all.now_ns, "ago"),
                   std::to_string(each.held), std::to_string(each.started),
                   each.joined_ns != 0 ? local_time(each.joined_ns) : "",
                   each.knows_kinds ? handled : "not known"});
    }
    return shown.is_empty() ? "" : section("Processes", shown.text());
}

std::string page(const connection &to, const std::string &schema) {
    const std::vector<std::int64_t> until = next_hours(to.now());
    const census all(to, nullptr, until);
    const kind_census &sum = all.sum;
    const std::string when = local_time(all.now_ns);
    return "<!doctype html>\n<html lang=en>\n<head>\n<meta charset=utf-8>\n"
           "<meta name=viewport content=\"width=device-width, initial-scale=1\">\n"
           "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; style-src "
           "'unsafe-inline'\">\n" +
           in("title", "Jobs, " + when) + "\n<style>" + report_style + "</style>\n</head>\n<body>\n<header>" +
           in("h1", "Jobs") +
           in("p", "Schema " + in("b", html(schema)) + ", at " + in("b", when) +
                       " by the database's clock (" + utc_time(all.now_ns).substr(11, 8) + " UTC)") +
           "</header>\n<main>\n" + tiles(all) + warnings(all) +
           jobs(to, all, "Late", TW_DURABLE_PENDING | TW_DURABLE_GIVEN_UP | TW_DURABLE_HELD, all.now_ns,
                sum.late.text(), "Why") +
           jobs(to, all, "Failed", TW_DURABLE_FAILED, TW_NO_DEADLINE, sum.failed.text(), "Error") +
           jobs(to, all, "Given up", TW_DURABLE_GIVEN_UP, TW_NO_DEADLINE, sum.given_up.text(), "Error") +
           jobs(to, all, "Running", TW_DURABLE_STARTED, TW_NO_DEADLINE, std::to_string(sum.started),
                "Holder") +
           next_day(to, all, until) + kinds(all) + processes(all) + "</main>\n</body>\n</html>\n";
}

// The new page takes the place of the old one when it is complete.
void write(const std::string &path, const std::string &text) {
    const std::string fresh = path + ".new";
    std::FILE *const file = std::fopen(fresh.c_str(), "we");
    const bool is_written = file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
    const bool is_closed = file != nullptr && std::fclose(file) == 0;
    if (is_written && is_closed && std::rename(fresh.c_str(), path.c_str()) == 0)
        return;
    const int error = errno;
    ::unlink(fresh.c_str());
    throw std::runtime_error(path + ": " + std::strerror(error));
}

}  // namespace

int report(const options &o) {
    const connection to(o);
    write(*o.file, page(to, o.schema.value_or("tickwheel")));
    return all_is_well;
}

}  // namespace tickwheel::jobs
