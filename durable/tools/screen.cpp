// See screen.hpp.
#include "screen.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>

#include "plain.hpp"

namespace tickwheel::jobs {

namespace {

volatile sig_atomic_t is_told_to_end = 0;

winsize size_of_terminal() {
    winsize size = {};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0)
        size = {24, 80, 0, 0};
    return size;
}

}  // namespace

void end_by_signals() {
    struct sigaction action = {};
    action.sa_handler = [](int) { is_told_to_end = 1; };
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT})
        ::sigaction(signal, &action, nullptr);
    action.sa_handler = [](int) {};  // does nothing; the signal only ends a wait
    ::sigaction(SIGWINCH, &action, nullptr);
}

bool wait(std::int64_t ns, bool keys) {
    pollfd typed = {keys ? STDIN_FILENO : -1, POLLIN, 0};
    if (is_told_to_end == 0 && ::poll(&typed, 1, static_cast<int>(ns / 1'000'000)) > 0) {
        char key = 0;
        if (::read(STDIN_FILENO, &key, 1) <= 0 || key == 'q' || key == 'Q')
            return false;
    }
    return is_told_to_end == 0;
}

screen::screen() : has_keys_(::tcgetattr(STDIN_FILENO, &before_) == 0) {
    if (has_keys_) {
        termios quiet = before_;
        quiet.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
        ::tcsetattr(STDIN_FILENO, TCSANOW, &quiet);
    }
    std::fputs("\033[?1049h\033[?25l", stdout);
}

screen::~screen() {
    std::fputs("\033[?25h\033[?1049l", stdout);
    std::fflush(stdout);
    if (has_keys_)
        ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
}

unsigned screen::rows() { return size_of_terminal().ws_row; }

void screen::draw(const std::vector<std::string> &lines) {
    const winsize size = size_of_terminal();
    std::fputs("\033[H", stdout);
    for (unsigned row = 0; row < size.ws_row; ++row) {
        const std::string line = row < lines.size() ? cut(lines[row], size.ws_col) : "";
        std::printf("%s\033[K%s", line.c_str(), row + 1 < size.ws_row ? "\r\n" : "");
    }
    std::fflush(stdout);
}

}  // namespace tickwheel::jobs
