// The verb watch: shows the state of a database repeatedly.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <map>
#include <optional>

#include "entry.hpp"
#include "moments.hpp"
#include "open_database.hpp"
#include "plain.hpp"
#include "screen.hpp"
#include "table.hpp"
#include "verbs.hpp"

namespace tickwheel::jobs {

namespace {

constexpr std::size_t most_rows = 200;  // of held and started jobs, and of failed jobs
constexpr std::size_t widest = 30;      // of a cell
constexpr tw_durable_state each_state[] = {TW_DURABLE_PENDING, TW_DURABLE_HELD, TW_DURABLE_STARTED,
                                           TW_DURABLE_FAILED};

using lines = std::vector<std::string>;

// What the database contained at one moment.
class look {
  public:
    look(const connection &to, const options &o) : to_(to), kind_(o.kind ? o.kind->c_str() : nullptr) {
        now_ = to_.now();
        for (const tw_durable_state state : each_state)
            counts_[state] = count(state);
    }

    // Held and started jobs may fill the screen, so the failed jobs get half of the rows.
    lines shown(std::size_t rows) const {
        lines all = {head()};
        const std::size_t room = std::max<std::size_t>(rows, 6) - 1;
        add(all, TW_DURABLE_STARTED | TW_DURABLE_HELD, "nothing is held or started", room / 2);
        if (counts_.at(TW_DURABLE_FAILED) != 0)
            add(all, TW_DURABLE_FAILED, "", room - room / 2);
        return all;
    }

  private:
    std::int64_t count(unsigned states) const {
        tw_durable_filter filter = {};
        filter.kind = kind_;
        filter.states = states;
        return check(tw_durable_count(to_.get(), &filter));
    }

    std::string head() const {
        std::string all = local_time(now_) + " by the database's clock: ";
        for (const tw_durable_state state : each_state)
            all += std::to_string(counts_.at(state)) + " " + name_of(state) +
                   (state != TW_DURABLE_FAILED ? ", " : "");
        return all;
    }

    void add(lines &all, unsigned states, const char *if_none, std::size_t room) const {
        tw_durable_filter filter = {};
        filter.kind = kind_;
        filter.states = states;
        filter.limit =
            std::min(most_rows, std::max<std::size_t>(room, 3) - 2);  // an empty line, and the heads
        table jobs(heads());
        to_.list(filter, [&](const tw_durable_entry &entry) { jobs.add(row(entry, now_, widest)); });
        const lines rows = jobs.lines();
        all.emplace_back();
        if (rows.empty() && *if_none != 0)
            all.emplace_back(if_none);
        all.insert(all.end(), rows.begin(), rows.end());
    }

    const connection &to_;
    const char *kind_;
    std::int64_t now_;
    std::map<unsigned, std::int64_t> counts_;
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
