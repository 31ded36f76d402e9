// The terminal of a program that draws all of it again and again.
#pragma once

#include <termios.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tickwheel::jobs {

// Has signals that end a program end its waits instead.
void end_by_signals();

// Waits. False if a signal has come that ends the program, or `keys` are watched and the user has typed q.
// Ends early if the size of the terminal changes.
bool wait(std::int64_t ns, bool keys);

// The other screen, without a cursor and without what is typed; and back again at the end.
class screen {
  public:
    screen();
    ~screen();
    screen(const screen &) = delete;
    screen &operator=(const screen &) = delete;

    // How many lines there is room for.
    static unsigned rows();

    // Lines that do not fit are cut.
    static void draw(const std::vector<std::string> &lines);

    bool has_keys() const { return has_keys_; }

  private:
    termios before_ = {};
    bool has_keys_;
};

}  // namespace tickwheel::jobs
