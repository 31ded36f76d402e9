// The verb watch: shows the state of a database repeatedly.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <optional>

#include "census.hpp"
#include "entry.hpp"
#include "moments.hpp"
#include "plain.hpp"
#include "screen.hpp"
#include "table.hpp"
#include "verbs.hpp"

namespace tickwheel::jobs {

namespace {

constexpr std::size_t most_rows = 200;  // of late jobs, and of the others

using lines = std::vector<std::string>;

// What the database contained at one moment, in 80 columns.
class look {
  public:
    look(const connection &to, const options &o)
        : to_(to), kind_(o.kind ? o.kind->c_str() : nullptr), all_(to, kind_) {}

    // What is late comes first, then what runs, then what has failed. Each gets a third of the rows, and what
    // those before it leave.
    lines shown(std::size_t rows) const {
        lines shown = head();
        const std::size_t room = std::max<std::size_t>(rows, shown.size() + 3) - shown.size();
        const std::int64_t late_before = all_.sum.late.least != 0 ? all_.now_ns : 0;
        std::size_t left = room;
        if (late_before != 0)
            left -= add(shown, TW_DURABLE_PENDING | TW_DURABLE_GIVEN_UP, late_before, room / 3);
        left -= add(shown, TW_DURABLE_STARTED | TW_DURABLE_HELD, TW_NO_DEADLINE, left / 2);
        if (all_.sum.failed.least != 0)
            left -=
                add(shown, TW_DURABLE_FAILED, TW_NO_DEADLINE, left / (all_.sum.given_up.least != 0 ? 2 : 1));
        if (all_.sum.given_up.least != 0)
            add(shown, TW_DURABLE_GIVEN_UP, 0, left);
        if (shown.size() == head().size())
            shown.insert(shown.end(), {"", "nothing is late, held or started, and nothing has failed"});
        return shown;
    }

  private:
    lines head() const {
        const kind_census &sum = all_.sum;
        std::string late = sum.late.text() + " late";
        if (sum.late.least != 0)
            late += " by " + duration(all_.now_ns - sum.first_ready_ns);
        lines all = {local_time(all_.now_ns) + " by the database's clock; " + std::to_string(all_.alive) +
                         (all_.alive == 1 ? " process is alive" : " processes are alive"),
                     late + ", " + std::to_string(sum.held) + " held, " + std::to_string(sum.started) +
                         " started, " + sum.failed.text() + " failed, " + sum.given_up.text() + " given up" +
                         (sum.waiting.least != 0 ? ", " + sum.waiting.text() + " waiting" : "")};
        std::string nobody;
        for (const kind_census &each : all_.kinds)
            if (all_.nobody_handles(each))
                nobody += (nobody.empty() ? "" : ", ") + plain(each.kind);
        if (!nobody.empty())
            all.push_back(cut("nobody handles " + nobody, 80));
        if (kind_ != nullptr && all_.kinds.empty() && all_.all_tell_kinds && !all_.handles(kind_))
            all.push_back(cut(std::string("there are no jobs of kind ") + plain(kind_) +
                                  ", and no process handles this kind",
                              80));
        return all;
    }

    // Returns how many lines it has added.
    std::size_t add(lines &all, unsigned states, std::int64_t ready_before, std::size_t room) const {
        tw_durable_filter filter = {};
        filter.kind = kind_;
        filter.states = states;
        filter.ready_before_ns = ready_before;
        filter.limit =
            std::min(most_rows, std::max<std::size_t>(room, 3) - 2);  // an empty line, and the heads
        table jobs({"KIND", "KEY", "STATE", "WHEN", "HOLDER OR ERROR"});
        to_.list(filter, [&](const tw_durable_entry &entry) { jobs.add(narrow_row(entry, all_.now_ns)); });
        const lines rows = jobs.lines();
        if (rows.empty())
            return 0;
        all.emplace_back();
        all.insert(all.end(), rows.begin(), rows.end());
        return rows.size() + 1;
    }

    const connection &to_;
    const char *kind_;
    const census all_;
};

// Looks at a database again and again. If the database cannot be reached, shows the error until it can.
class looker {
  public:
    explicit looker(const options &o) : options_(o) { to_.emplace(o); }

    lines look_for(std::size_t rows) {
        const auto begin = std::chrono::steady_clock::now();
        lines seen;
        try {
            seen = look(*to_, options_).shown(rows);
        } catch (const database_error &error) {
            seen = {plain(error.what()) + "; trying again"};
        }
        took_ns_ = std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count();
        return seen;
    }

    // Counting a million jobs takes time, and the database must have most of its time for others.
    std::int64_t pause_ns() const { return std::max(options_.every_look_ns, 5 * took_ns_); }

  private:
    const options &options_;
    std::optional<connection> to_;
    std::int64_t took_ns_ = 0;
};

void print(const lines &all) {
    for (const std::string &line : all)
        std::puts(line.c_str());
    std::fflush(stdout);
}

int print_once(const options &o) {
    check_words(o, nullptr);
    const connection to(o);
    print(look(to, o).shown(most_rows));
    return all_is_well;
}

int print_again_and_again(const options &o) {
    looker watcher(o);
    do {
        print(watcher.look_for(most_rows));
        std::puts("");
    } while (wait(watcher.pause_ns(), false) && std::ferror(stdout) == 0);
    return all_is_well;
}

int show_live(const options &o) {
    looker watcher(o);
    const screen on;
    do {
        screen::draw(watcher.look_for(screen::rows()));
    } while (wait(watcher.pause_ns(), on.has_keys()) && std::ferror(stdout) == 0);
    return all_is_well;
}

}  // namespace

int watch(const options &o) {
    if (o.once)
        return print_once(o);
    end_by_signals();
    return ::isatty(STDOUT_FILENO) != 0 ? show_live(o) : print_again_and_again(o);
}

}  // namespace tickwheel::jobs
