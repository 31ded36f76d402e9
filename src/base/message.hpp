// A message about something broken. Built without stdio or the heap, because their memory may be what is
// broken, and printed with a single write.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>

namespace tickwheel::base {

class message {
  public:
    void add(const char *text) {
        while (*text != '\0' && length_ < sizeof text_)
            text_[length_++] = *text++;
    }

    void add(std::uintptr_t number, unsigned base) {
        char digits[2 * sizeof number + 1 + (sizeof number + 1) / 2] = {};
        char *first = &digits[sizeof digits - 1];
        do
            *--first = "0123456789abcdef"[number % base];
        while ((number /= base) != 0 && first != digits);
        add(first);
    }

    void add_address(const void *address) {
        add("0x");
        add(reinterpret_cast<std::uintptr_t>(address), 16);
    }

    void write() const {
        if (::write(STDERR_FILENO, text_, length_) < 0)
            return;  // stderr is closed, so we cannot report anything
    }

  private:
    char text_[2048];
    std::size_t length_ = 0;
};

// The start of every message about a node.
inline void add_node(message &said, const void *node, unsigned state) {
    said.add("node ");
    said.add_address(node);
    said.add(", state ");
    said.add(state, 10);
    said.add(": ");
}

}  // namespace tickwheel::base
