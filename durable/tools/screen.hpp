// The terminal, for a program that redraws the whole screen again and again.
#pragma once

#include <termios.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tickwheel::jobs {

// Makes the signals that would end the program end its waits instead.
void end_by_signals();

// Waits. Returns false if a terminating signal has come, or if `keys` is true and the user has typed q. The
// wait ends early if the size of the terminal changes.
bool wait(std::int64_t ns, bool keys);

// Shows the terminal's alternate screen, without a cursor and without echo. The destructor restores the
// terminal.
class screen {
  public:
    screen();
    ~screen();
    screen(const screen &) = delete;
    screen &operator=(const screen &) = delete;

    // How many lines fit.
    static unsigned rows();

    // Cuts lines that do not fit.
    static void draw(const std::vector<std::string> &lines);

    bool has_keys() const { return has_keys_; }

  private:
    termios before_ = {};
    bool has_keys_;
};

}  // namespace tickwheel::jobs
