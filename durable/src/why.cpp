// Says in a sentence why a job has not run yet.
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "check_job.hpp"
#include "duration_text.hpp"
#include "explain.hpp"
#include "guard.hpp"
#include "tw_durable.hpp"
#include "utf8_text.hpp"

namespace tickwheel::durable {

namespace {

struct found_member {
    std::int64_t id;
    std::string name;
    std::int64_t lease_end;
    bool is_dead, knows_kinds, handles;
    std::uint64_t held, started;
};

// What the database says about a job at one moment.
struct findings {
    std::string_view kind;
    std::int64_t now = 0;
    bool exists = false;
    tw_durable_entry entry = {};
    std::string holder, error;
    std::string group;  // for which the job waits
    std::int64_t left_in_group = 0, failed_in_group = 0;
    std::vector<found_member> members;
    tw_durable_handling how = {};   // of this process; all zeroes if it does not handle the kind
    std::int64_t held_of_kind = 0;  // if `how` has a limit of running jobs
};

int note_job(const tw_durable_entry *entry, void *arg) {
    return guarded([&] {
        auto &into = *static_cast<findings *>(arg);
        into.exists = true;
        into.entry = *entry;
        into.holder = entry->holder != nullptr ? made_utf8(entry->holder) : "";
        into.error = entry->error != nullptr ? made_utf8(entry->error) : "";
        into.group = entry->job.waits_for != nullptr ? entry->job.waits_for : "";
        return 0;
    });
}

int note_member(const tw_durable_member *member, void *arg) {
    return guarded([&] {
        auto &into = *static_cast<findings *>(arg);
        const bool handles = std::any_of(member->kinds, member->kinds + member->kinds_count,
                                         [&](const char *kind) { return into.kind == kind; });
        into.members.push_back({member->id, made_utf8(member->name), member->lease_end_ns, member->dead != 0,
                                member->knows_kinds != 0, handles, member->held, member->started});
        return 0;
    });
}

std::string utc(std::int64_t ns) {
    const auto seconds = static_cast<time_t>(ns / TW_SECOND);
    std::tm parts = {};
    char text[64] = "";
    if (gmtime_r(&seconds, &parts) != nullptr)
        std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts);
    return text;
}

std::string listed(const std::vector<std::string> &names) {
    constexpr std::size_t most = 3;
    std::string all;
    for (std::size_t i = 0; i < std::min(names.size(), most); ++i)
        all += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
    return names.size() > most ? all + " and " + std::to_string(names.size() - most) + " more" : all;
}

class sentence {
  public:
    sentence(const findings &all, std::int64_t time_of_day)
        : all_(all), entry_(all.entry), time_of_day_(time_of_day) {
        for (const found_member &each : all.members)
            if (!each.is_dead && each.lease_end > all.now)
                alive_.push_back(each);
    }

    std::string text() const {
        if (!all_.exists)
            return "There is no job of this name: it has fired, was removed, or was never put.";
        if (entry_.state == TW_DURABLE_FAILED)
            return "It has failed: " + tried() + " was the last one" + because() +
                   "; it stays until it is requeued, replaced or removed.";
        if (entry_.state == TW_DURABLE_WAITING)
            return of_group();
        if (entry_.state == TW_DURABLE_HELD || entry_.state == TW_DURABLE_STARTED)
            return of_held();
        return entry_.ready_ns > all_.now ? of_waiting() : of_late();
    }

  private:
    std::string because() const {
        return all_.error.empty() ? "" : ", and ended with \"" + all_.error + "\"";
    }
    std::string with_error() const { return all_.error.empty() ? "" : " with \"" + all_.error + "\""; }
    std::string tried() const {
        return "try " + std::to_string(entry_.attempts) +
               (all_.how.attempts != 0 ? " of " + std::to_string(all_.how.attempts) : "");
    }
    std::string when() const {
        return "in " + duration_text(entry_.ready_ns - all_.now) + ", at " + utc(entry_.ready_ns);
    }
    std::string since() const {
        return "It has been due for " + duration_text(std::max<std::int64_t>(all_.now - entry_.ready_ns, 0));
    }

    std::string of_group() const {
        const auto jobs = [](std::int64_t count, const char *one, const char *many) {
            return std::to_string(count) + (count == 1 ? one : many);
        };
        const std::string name = "It waits for the group \"" + made_utf8(all_.group.c_str()) + "\"";
        if (all_.left_in_group == 0)
            return name + ", of which no job is left; a process is about to release it.";
        return name + ": " + jobs(all_.left_in_group, " job is left", " jobs are left") +
               (all_.failed_in_group != 0
                    ? ", " + jobs(all_.failed_in_group, " of them has failed", " of them have failed") +
                          ", and must be requeued, replaced or removed."
                    : ".");
    }

    std::string of_waiting() const {
        if (entry_.state == TW_DURABLE_GIVEN_UP)
            return "It waits for its next due time, " + when() +
                   "; the last one was given up, because the last try ended with \"" + all_.error + "\".";
        if (entry_.attempts != 0)
            return "It waits for its next try, " + when() + ", because " + tried() + " has failed" +
                   with_error() + ".";
        if (entry_.ready_ns > entry_.job.due_ns)
            return "It fires again " + when() +
                   (all_.error.empty() ? ", as its handler answered." : ", because \"" + all_.error + "\".");
        return "It is not due: it fires " + when() + "." + of_clock();
    }

    // For people who read this machine's clock, by which the job would be due.
    std::string of_clock() const {
        const std::int64_t ahead = time_of_day_ - all_.now;
        if (time_of_day_ == 0 || std::abs(ahead) <= TW_SECOND || entry_.ready_ns > time_of_day_)
            return "";
        return " The clock of this machine is " + duration_text(ahead) +
               " ahead of the database's, which is the one that counts.";
    }

    const found_member *holder() const {
        const auto found =
            std::find_if(all_.members.begin(), all_.members.end(),
                         [this](const found_member &each) { return each.id == entry_.holder_id; });
        return found != all_.members.end() ? &*found : nullptr;
    }

    std::string of_held() const {
        const bool is_started = entry_.state == TW_DURABLE_STARTED;
        const found_member *const by = holder();
        const std::string name = all_.holder.empty() ? "A process" : all_.holder;
        const std::string so_far = is_started ? name + " has started its handler" : name + " holds it";
        if (by != nullptr && (by->is_dead || by->lease_end <= all_.now))
            return so_far + ", but the lease of " + name + " ended " +
                   duration_text(std::max<std::int64_t>(all_.now - by->lease_end, 0)) + " ago" + takes_over();
        const std::string lease =
            by != nullptr ? " The lease of " + name + " lasts until " + utc(by->lease_end) + "." : "";
        if (is_started)
            return so_far + ", which runs or waits for a worker there" +
                   (by != nullptr && by->started > 1
                        ? ", together with " + std::to_string(by->started - 1) + " more"
                        : "") +
                   "; it became ready " +
                   duration_text(std::max<std::int64_t>(all_.now - entry_.ready_ns, 0)) + " ago." +
                   of_last_try() + lease;
        if (entry_.ready_ns > all_.now)
            return so_far + ", and fires it " + when() + "." + of_last_try() + lease;
        return since() + "; " + so_far + ", and is about to start it." + lease;
    }

    std::string of_last_try() const {
        if (entry_.attempts == 0)
            return "";
        return " T" + tried().substr(1) + " has failed" + with_error() + ".";
    }

    std::string takes_over() const {
        const std::vector<std::string> heirs = handlers();
        if (alive_.empty())
            return "; no other process is alive to take over.";
        if (heirs.empty())
            return "; no process that is alive handles its kind, so none takes over.";
        return "; " + listed(heirs) + " will take over, after the next renewal of " +
               (heirs.size() == 1 ? "its lease." : "one of their leases.");
    }

    std::vector<std::string> handlers() const {
        std::vector<std::string> names;
        for (const found_member &each : alive_)
            if (each.handles)
                names.push_back(each.name);
        return names;
    }

    std::string of_late() const {
        if (alive_.empty())
            return since() + ", and no process is alive" + of_last_member();
        const std::vector<std::string> names = handlers();
        if (names.empty())
            return since() + of_nobody();
        if (all_.how.running != 0 && all_.held_of_kind >= all_.how.running)
            return since() + ", and waits because of a limit: " + std::to_string(all_.held_of_kind) + " of " +
                   std::to_string(all_.how.running) + " jobs of its kind run." + of_last_try();
        if (all_.how.rate != 0)
            return since() + "; of its kind at most " + std::to_string(all_.how.rate) + " start within " +
                   duration_text(all_.how.per_ns) + "." + of_last_try();
        return since() + ", and " + listed(names) +
               (names.size() == 1 ? ", which handles its kind, has" : ", which handle its kind, have") +
               " not claimed it yet; " + of_workers() + of_last_try();
    }

    // The database does not know how many workers a process has.
    std::string of_workers() const {
        constexpr const char *others = "look at the log, and for a transaction that has locked it.";
        std::string busy;
        for (const found_member &each : alive_)
            if (each.handles && each.started > 0)
                busy += (busy.empty() ? "" : ", ") + each.name + " runs " + std::to_string(each.started) +
                        " and holds " + std::to_string(each.held) + " more";
        return busy.empty() ? std::string("if that lasts, ") + others
                            : busy + ". It waits if all workers are busy; if they are not, " + others;
    }

    std::string of_last_member() const {
        const auto last = std::max_element(
            all_.members.begin(), all_.members.end(),
            [](const auto &one, const auto &other) { return one.lease_end < other.lease_end; });
        if (last == all_.members.end())
            return " to handle it.";
        return ": the last lease was that of " + last->name + ", and ended " +
               duration_text(std::max<std::int64_t>(all_.now - last->lease_end, 0)) + " ago.";
    }

    std::string of_nobody() const {
        std::vector<std::string> names, unknown;
        for (const found_member &each : alive_)
            (each.knows_kinds ? names : unknown).push_back(each.name);
        if (!unknown.empty())
            return ", and no process is known to handle its kind; " + listed(unknown) +
                   (unknown.size() == 1 ? " has not said which kinds it handles."
                                        : " have not said which kinds they handle.");
        return ", and nobody handles its kind: " +
               (names.size() == 1
                    ? names[0] + ", the only process that is alive, does not."
                    : "none of the " + std::to_string(names.size()) + " processes that are alive does.");
    }

    const findings &all_;
    const tw_durable_entry &entry_;
    const std::int64_t time_of_day_;
    std::vector<found_member> alive_;
};

// Counts the jobs of the group for which the job waits.
int look_at_group(const tw_store &store, void *connection, findings &all) {
    if (all.group.empty())
        return 0;
    tw_durable_filter filter = {};
    filter.group = all.group.c_str();
    all.left_in_group = store.count(connection, &filter);
    filter.states = TW_DURABLE_FAILED;
    all.failed_in_group = all.left_in_group > 0 ? store.count(connection, &filter) : 0;
    return static_cast<int>(std::min({all.left_in_group, all.failed_in_group, std::int64_t{0}}));
}

int look(tw_durable &durable, const char *key, const std::string &kind, findings &all) {
    tw_durable_filter filter = {};
    filter.kind = kind.c_str();
    return static_cast<int>(durable.put_queue.ask([&](const tw_store &store, void *connection) {
        if (const int error = store.now(connection, &all.now); error != 0)
            return error;
        if (const int error = store.list(connection, &filter, key, note_job, &all); error != 0)
            return error;
        if (all.how.running != 0) {
            tw_durable_filter held = filter;
            held.states = TW_DURABLE_HELD | TW_DURABLE_STARTED;
            all.held_of_kind = store.count(connection, &held);
            if (all.held_of_kind < 0)
                return static_cast<int>(all.held_of_kind);
        }
        if (const int error = look_at_group(store, connection, all); error != 0)
            return error;
        return store.members(connection, note_member, &all);
    }));
}

std::string of_outage(const tw_durable &durable, int error) {
    const std::string why = noted(error);
    const trouble known = durable.member != nullptr ? durable.member->troubles.now() : trouble{};
    if (!is_loss(error))
        return "The database refuses the question: " + why + ".";
    if (is_loss(known.error))
        return "The database has not been reached since " + utc(known.since_ns) + ": " + why + ".";
    return "The database cannot be reached: " + why + ".";
}

}  // namespace

}  // namespace tickwheel::durable

using namespace tickwheel::durable;

TW_API int tw_durable_why(tw_durable *durable, const char *kind, const char *key, char *text, size_t room) {
    if (const int error = check_usable(durable); error != 0)
        return error;
    if (const int error = check_name(kind, "kind"); error != 0)
        return error;
    if (const int error = check_name(key, "key"); error != 0)
        return error;
    if (text == nullptr || room == 0)
        return refuse(-EINVAL, "the place for the text is null, or has no room");
    return guarded([&] {
        findings all;
        all.kind = kind;
        if (const handling *const by =
                durable->member != nullptr ? durable->member->membership.handling_of(kind) : nullptr;
            by != nullptr)
            all.how = by->how;
        if (const int error = look(*durable, key, kind, all); error != 0) {
            copy_text(text, room, of_outage(*durable, error).c_str());
            return error;
        }
        const std::int64_t here = durable->settings.single_thread ? 0 : time_of_day();
        copy_text(text, room, sentence(all, here).text().c_str());
        return all.exists ? 0 : refuse(-ENOENT, "there is no such job");
    });
}
