// ask: carries out the commands on its input, one on each line, and answers each with a line of JSON.
// server.py and tool.py run it.
//
//   open ADDRESS [SETTING=VALUE...]  schema=TEXT name=TEXT runtime=1, and timeout_ms, poll_ms, lease_ms,
//                                    horizon_ms, hold=N threads=N
//   handle KIND [running=N rate=N]   from then on prints a line for each fire and each event. The handlers of
//                                    "slow" run until the input ends, those of "held" until "go", those of
//                                    "nap" for the milliseconds at the end of the key, as in "17-300", and
//                                    then print a line; "bad" fails at its first try, for a reason that
//                                    would clear a terminal; "retry" fails and is tried again after a minute
//   put KIND KEY MILLISECONDS
//   remove KIND KEY
//   remove_all KIND
//   fire KIND KEY                    now
//   list                             one job on each line: kind, key, state and error
//   jobs                             one job on each line: key, state, token, attempts, period and payload
//   count | now | counts | dump | go | close
#include <sys/prctl.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>

#include <tickwheel/durable.h>

#include "history_log.hpp"

namespace {

using processes::moment;

struct program {
    std::mutex mutex;  // guards the output
    tw_runtime *rt = nullptr;
    tw_durable *jobs = nullptr;
    std::atomic<bool> has_ended = false;  // the input has
    std::atomic<bool> may_go = false;
};

std::string quoted(const std::string &text) {
    std::string all = "\"";
    for (const char each : text) {
        char code[8];
        std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned char>(each));
        all += each < ' ' || each == '"' || each == '\\' ? std::string(code) : std::string(1, each);
    }
    return all + '"';
}

void say(program &self, const std::string &fields) {
    const std::lock_guard hold(self.mutex);
    std::cout << "{\"real\":" << moment().real << ',' << fields << '}' << std::endl;
}

void answer(program &self, std::int64_t result, const std::string &text = "") {
    const char *const why = result < 0 ? tw_durable_explain(static_cast<int>(result)) : "";
    say(self,
        "\"result\":" + std::to_string(result) + ",\"why\":" + quoted(why) + ",\"text\":" + quoted(text));
}

tw_durable_answer on_fire(tw_durable_fire *fire, void *arg) {
    say(*static_cast<program *>(arg), "\"fire\":" + quoted(fire->key) + ",\"kind\":" + quoted(fire->kind) +
                                          ",\"due\":" + std::to_string(fire->due_ns));
    if (fire->kind == std::string("nap")) {
        std::this_thread::sleep_for(
            std::chrono::milliseconds(std::strtol(std::strchr(fire->key, '-') + 1, nullptr, 10)));
        say(*static_cast<program *>(arg), "\"ended\":" + quoted(fire->key));
    }
    if (fire->kind == std::string("slow"))
        static_cast<program *>(arg)->has_ended.wait(false);
    if (fire->kind == std::string("held"))
        static_cast<program *>(arg)->may_go.wait(false);
    if (fire->kind == std::string("retry"))
        return tw_durable_failed(fire, "no ink");
    return fire->kind == std::string("bad") ? tw_durable_failed(fire, "no \033[2Jpaper") : TW_DURABLE_DONE;
}

void on_event(tw_durable_event event, const char *why, void *arg) {
    say(*static_cast<program *>(arg), "\"event\":" + std::to_string(event) + ",\"why\":" + quoted(why));
}

using settings = std::map<std::string, std::string>;

settings read_settings(std::istream &words) {
    settings all;
    for (std::string word; words >> word;)
        if (const auto at = word.find('='); at != std::string::npos)
            all[word.substr(0, at)] = word.substr(at + 1);
    return all;
}

std::int64_t milliseconds(const settings &all, const char *name) {
    const auto found = all.find(name);
    return found != all.end() ? std::stoll(found->second) * TW_MILLISECOND : 0;
}

std::uint32_t number(const settings &all, const char *name) {
    const auto found = all.find(name);
    return found != all.end() ? static_cast<std::uint32_t>(std::stoul(found->second)) : 0;
}

int open(program &self, std::istream &words) {
    std::string address;
    words >> address;
    std::replace(address.begin(), address.end(), '\t', ' ');
    const settings all = read_settings(words);
    tw_durable_options options{};
    options.schema = all.count("schema") != 0 ? all.at("schema").c_str() : nullptr;
    options.name = all.count("name") != 0 ? all.at("name").c_str() : nullptr;
    options.timeout_ns = milliseconds(all, "timeout_ms");
    options.poll_ns = milliseconds(all, "poll_ms");
    options.lease_ns = milliseconds(all, "lease_ms");
    options.horizon_ns = milliseconds(all, "horizon_ms");
    options.hold = number(all, "hold");
    options.threads = number(all, "threads");
    options.on_event = on_event;
    options.on_event_arg = &self;
    if (all.count("runtime") != 0 &&
        (tw_runtime_new(&self.rt, nullptr) != 0 || tw_runtime_start(self.rt) != 0))
        std::abort();
    return tw_durable_open(&self.jobs, self.rt, address.c_str(), &options);
}

int put(program &self, std::istream &words) {
    std::string kind, key;
    std::int64_t delay = 0;
    words >> kind >> key >> delay;
    tw_durable_job job{};
    job.kind = kind.c_str();
    job.key = key.c_str();
    job.due_ns = delay * TW_MILLISECOND;
    return tw_durable_put(self.jobs, &job, TW_DURABLE_REPLACE);
}

int remove(program &self, std::istream &words) {
    std::string kind, key;
    words >> kind >> key;
    return tw_durable_cancel(self.jobs, kind.c_str(), key.c_str());
}

std::int64_t remove_all(program &self, std::istream &words) {
    std::string kind;
    words >> kind;
    tw_durable_filter all{};
    all.kind = kind.c_str();
    return tw_durable_cancel_many(self.jobs, &all);
}

int fire(program &self, std::istream &words) {
    std::string kind, key;
    words >> kind >> key;
    return tw_durable_fire_now(self.jobs, kind.c_str(), key.c_str());
}

int handle(program &self, std::istream &words) {
    std::string kind;
    words >> kind;
    const settings all = read_settings(words);
    tw_durable_handling how{};
    how.attempts = kind == "bad" ? 1 : 0;
    how.backoff_ns = kind == "retry" ? 60 * TW_SECOND : 0;
    how.running = number(all, "running");
    how.rate = number(all, "rate");
    return tw_durable_register(self.jobs, kind.c_str(), on_fire, &self, &how);
}

void tell_counts(program &self) {
    tw_durable_counts counts{};
    const int result = tw_durable_stats(self.jobs, &counts);
    answer(self, result,
           "held " + std::to_string(counts.held) + " taken_back " + std::to_string(counts.taken_back) +
               " skipped " + std::to_string(counts.skipped) + " errors " + std::to_string(counts.errors) +
               " unsettled " + std::to_string(counts.unsettled));
}

int list(program &self, std::string &text) {
    return tw_durable_list(
        self.jobs, nullptr,
        [](const tw_durable_entry *entry, void *all) {
            const std::string error = entry->error != nullptr ? entry->error : "";
            *static_cast<std::string *>(all) += std::string(entry->job.kind) + ' ' + entry->job.key + ' ' +
                                                std::to_string(entry->state) + ' ' + error + '\n';
            return 0;
        },
        &text);
}

void tell_jobs(program &self) {
    std::string text;
    const int result = tw_durable_list(
        self.jobs, nullptr,
        [](const tw_durable_entry *entry, void *all) {
            auto &lines = *static_cast<std::string *>(all);
            lines += entry->job.key + (' ' + std::to_string(entry->state)) + ' ' +
                     std::to_string(entry->token) + ' ' + std::to_string(entry->attempts) + ' ' +
                     std::to_string(entry->job.period_ns) + ' ';
            lines.append(static_cast<const char *>(entry->job.payload), entry->job.size) += '\n';
            return 0;
        },
        &text);
    answer(self, result, text);
}

void tell_list(program &self) {
    std::string text;
    const int result = list(self, text);
    answer(self, result, text);
}

void dump(program &self) {
    std::string text;
    const int result = tw_durable_dump(
        self.jobs,
        [](const char *part, std::size_t size, void *all) {
            static_cast<std::string *>(all)->append(part, size);
        },
        &text);
    answer(self, result, text);
}

int close(program &self) {
    const int result = tw_durable_close(self.jobs);
    tw_runtime_free(self.rt);
    self.jobs = nullptr;
    self.rt = nullptr;
    return result;
}

void let_go(program &asked) {
    asked.may_go = true;
    asked.may_go.notify_all();
    answer(asked, 0);
}

void carry_out(program &self, const std::string &verb, std::istream &words) {
    if (verb == "open")
        answer(self, open(self, words));
    else if (verb == "handle")
        answer(self, handle(self, words));
    else if (verb == "put")
        answer(self, put(self, words));
    else if (verb == "remove")
        answer(self, remove(self, words));
    else if (verb == "remove_all")
        answer(self, remove_all(self, words));
    else if (verb == "fire")
        answer(self, fire(self, words));
    else if (verb == "count")
        answer(self, tw_durable_count(self.jobs, nullptr));
    else if (verb == "list")
        tell_list(self);
    else if (verb == "jobs")
        tell_jobs(self);
    else if (verb == "now")
        answer(self, tw_durable_now(self.jobs));
    else if (verb == "counts")
        tell_counts(self);
    else if (verb == "dump")
        dump(self);
    else if (verb == "go")
        let_go(self);
    else if (verb == "close")
        answer(self, close(self));
    else
        std::abort();
}

}  // namespace

int main() {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // not to outlive a test that was killed
    program self;
    for (std::string line, verb; std::getline(std::cin, line);) {
        std::istringstream words(line);
        words >> verb;
        carry_out(self, verb, words);
    }
    self.has_ended = true;
    self.has_ended.notify_all();
    return close(self) == 0 ? 0 : 1;
}
