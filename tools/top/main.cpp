// tickwheel-top: shows live what the timers of running programs do. See tickwheel/inspect.h for how a program
// allows this, and tools/README.md for the display.
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <map>

#include <tickwheel/version.h>

#include "view.hpp"

using namespace tickwheel::top;

namespace {

constexpr char usage[] = "usage: tickwheel-top [--once] [--seconds S] [--timers N] [PID | SOCKET]\n"
                         "  shows what the timers of your programs do, if these call tw_inspect_start\n"
                         "  --once       print once and exit\n"
                         "  --seconds S  time between two updates (1); rates cover that time\n"
                         "  --timers N   how many of the timers that are due next to show (5; at most 64)\n"
                         "  q quits\n";

struct options {
    bool once = false;
    double seconds = 1;
    unsigned timers = 5;
    bool wants_timers = false;  // --timers was given
    std::string which;          // process or path; empty: all
};

[[noreturn]] void refuse(const std::string &why) {
    std::fprintf(stderr, "tickwheel-top: %s\n%s", why.c_str(), usage);
    std::exit(2);
}

options read_options(int argc, char **argv) {
    options o;
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        char *end = nullptr;
        const auto value = [&] {
            return i + 1 < argc ? argv[++i] : (refuse(word + " takes a number"), nullptr);
        };
        if (word == "--once") {
            o.once = true;
        } else if (word == "--seconds") {
            o.seconds = std::strtod(value(), &end);
            if (*end != 0 || !(o.seconds >= 0.05 && o.seconds <= 3600))
                refuse("--seconds takes 0.05 .. 3600");
        } else if (word == "--timers") {
            const long number = std::strtol(value(), &end, 10);
            if (*end != 0 || number < 0 || number > 64)
                refuse("--timers takes 0 .. 64");
            o.timers = static_cast<unsigned>(number);
            o.wants_timers = true;
        } else if (word == "--help" || word == "-h") {
            std::fputs(usage, stdout);
            std::exit(0);
        } else if (word == "--version") {
            std::printf("tickwheel-top %d.%d.%d\n", TW_VERSION_MAJOR, TW_VERSION_MINOR, TW_VERSION_PATCH);
            std::exit(0);
        } else if (word.empty() || word[0] == '-' || !o.which.empty()) {
            refuse("unexpected argument: " + word);
        } else {
            o.which = word;
        }
    }
    return o;
}

// --- looking -----------------------------------------------------------------------------

bool is_of_process(const std::string &path, const std::string &process) {
    return path.substr(path.rfind('/') + 1).starts_with(process + ".");
}

std::vector<std::string> sockets_of(const options &o, std::string &why) {
    if (o.which.find('/') != std::string::npos)
        return {o.which};
    std::vector<std::string> all = find_sockets(why);
    if (!o.which.empty()) {
        std::erase_if(all, [&](const std::string &each) { return !is_of_process(each, o.which); });
        why = "no process " + o.which + " of yours can be observed; see tw_inspect_start";
    }
    return all;
}

// The last two samples of a runtime.
struct watched_runtime {
    sample now, before;
    bool has_before = false;
    bool is_there = false;
};

class runtime_list {
  public:
    explicit runtime_list(const options &o) : options_(o) {}

    // Takes a sample of each runtime. Returns true if there is one to show.
    bool look() {
        for (auto &each : runtimes_)
            each.second.is_there = false;
        bool any = false;
        for (const std::string &path : sockets_of(options_, why_)) {
            sample now;
            std::string why;
            if (!ask(path, options_.timers, options_.wants_timers, now, why)) {
                why_.assign(path).append(": ").append(why);
                continue;
            }
            watched_runtime &runtime = runtimes_[path];
            runtime.has_before = runtime.now.at != 0;
            runtime.before = std::move(runtime.now);
            runtime.now = std::move(now);
            runtime.is_there = any = true;
        }
        std::erase_if(runtimes_, [](const auto &each) { return !each.second.is_there; });
        return any;
    }

    std::vector<std::string> lines() const {
        std::vector<std::string> all;
        for (const auto &each : runtimes_) {
            const watched_runtime &runtime = each.second;
            for (std::string &line : show(runtime.now, runtime.has_before ? &runtime.before : nullptr))
                all.push_back(std::move(line));
            all.emplace_back();
        }
        return all;
    }

    const std::string &why() const { return why_; }

  private:
    const options &options_;
    std::map<std::string, watched_runtime> runtimes_;
    std::string why_;
};

// --- the terminal ------------------------------------------------------------------------

volatile sig_atomic_t was_signalled = 0;

// The terminal's alternate screen, without cursor and echo. The destructor restores the terminal.
class screen {
  public:
    screen() {
        struct sigaction end = {};
        end.sa_handler = [](int) { was_signalled = 1; };
        for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT})
            ::sigaction(signal, &end, nullptr);
        has_keys_ = ::tcgetattr(STDIN_FILENO, &before_) == 0;
        if (has_keys_) {
            termios quiet = before_;
            quiet.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
            ::tcsetattr(STDIN_FILENO, TCSANOW, &quiet);
        }
        std::fputs("\033[?1049h\033[?25l", stdout);
    }
    ~screen() {
        std::fputs("\033[?25h\033[?1049l", stdout);
        std::fflush(stdout);
        if (has_keys_)
            ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
    }
    screen(const screen &) = delete;
    screen &operator=(const screen &) = delete;

    static void draw(const std::vector<std::string> &lines) {
        winsize size = {};
        if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0)
            size = {24, 80, 0, 0};
        std::fputs("\033[H", stdout);
        for (unsigned row = 0; row < size.ws_row; ++row) {
            const std::string line = row < lines.size() ? cut(lines[row], size.ws_col) : "";
            std::printf("%s\033[K%s", line.c_str(), row + 1 < size.ws_row ? "\r\n" : "");
        }
        std::fflush(stdout);
    }

    // Returns false if the user or a signal ends the program, or if the terminal is gone.
    bool wait(double seconds) const {
        pollfd keys = {has_keys_ ? STDIN_FILENO : -1, POLLIN, 0};
        if (::poll(&keys, 1, static_cast<int>(seconds * 1000)) > 0) {
            char key = 0;
            if (::read(STDIN_FILENO, &key, 1) <= 0 || key == 'q' || key == 'Q')
                return false;
        }
        return was_signalled == 0 && std::ferror(stdout) == 0;
    }

  private:
    termios before_ = {};
    bool has_keys_;
};

int print_once(runtime_list &runtimes, const options &o) {
    if (runtimes.look()) {
        ::poll(nullptr, 0, static_cast<int>(o.seconds * 1000));
        if (runtimes.look()) {
            for (const std::string &line : runtimes.lines())
                std::puts(line.c_str());
            return 0;
        }
    }
    std::fprintf(stderr, "tickwheel-top: %s\n", runtimes.why().c_str());
    return 1;
}

int show_live(runtime_list &runtimes, const options &o) {
    const screen on;
    do {
        screen::draw(runtimes.look() ? runtimes.lines() : std::vector<std::string>{runtimes.why()});
    } while (on.wait(o.seconds));
    return 0;
}

}  // namespace

int main(int argc, char **argv) {
    const options o = read_options(argc, argv);
    runtime_list runtimes(o);
    return o.once || ::isatty(STDOUT_FILENO) == 0 ? print_once(runtimes, o) : show_live(runtimes, o);
}
