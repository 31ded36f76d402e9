// tickwheel-jobs: shows and changes the durable timers of a database from a command line. It has no runtime
// and handles no jobs.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include <tickwheel/version.h>

#include "bad_usage.hpp"
#include "command_line.hpp"
#include "plain.hpp"
#include "verbs.hpp"

using namespace tickwheel::jobs;

namespace {

int run(const options &o) {
    switch (o.what) {
    case verb::list:
        return list(o);
    case verb::count:
        return count(o);
    case verb::kinds:
        return kinds(o);
    case verb::members:
        return members(o);
    case verb::why:
        return why(o);
    case verb::fire:
        return fire(o);
    case verb::report:
        return report(o);
    case verb::metrics:
        return metrics(o);
    case verb::get:
        return get(o);
    case verb::put:
        return put(o);
    case verb::remove:
        return tickwheel::jobs::remove(o);
    case verb::requeue:
        return requeue(o);
    case verb::watch:
        return watch(o);
    case verb::setup:
        return setup(o);
    }
    return usage_is_bad;
}

int say(int end, const std::string &why) {
    std::fprintf(stderr, "tickwheel-jobs: %s\n", why.c_str());
    if (end == usage_is_bad)
        std::fputs("tickwheel-jobs --help explains\n", stderr);
    return end;
}

int guarded(const std::vector<std::string> &words) {
    try {
        const int end = run(read_options(words));
        // A failure means that the disk is full, or that the reader has gone.
        if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
            return say(database_failed, std::strerror(errno));
        return end;
    } catch (const bad_usage &wrong) {
        return say(usage_is_bad, wrong.what());
    } catch (const std::exception &failed) {
        return say(database_failed, plain(failed.what()));
    }
}

}  // namespace

int main(int argc, char **argv) {
    const std::vector<std::string> words(argv + 1, argv + argc);
    for (const std::string &word : words) {
        if (word == "--")
            break;
        if (word == "--help" || word == "-h") {
            std::fputs(help, stdout);
            return 0;
        }
        if (word == "--version") {
            std::printf("tickwheel-jobs %d.%d.%d\n", TW_VERSION_MAJOR, TW_VERSION_MINOR, TW_VERSION_PATCH);
            return 0;
        }
    }
    return guarded(words);
}
