// The last words of a program whose wheel is broken: one line to stderr, then abort. One write
// without stdio or the heap, as their memory may be what is broken.
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

#include "port.h"

namespace {

class line {
  public:
    void add(const char *text) {
        while (*text != '\0' && length_ < sizeof text_)
            text_[length_++] = *text++;
    }

    void add(std::uintptr_t number, unsigned base) {
        char digits[2 * sizeof number + 1] = {};
        char *first = &digits[sizeof digits - 1];
        do
            *--first = "0123456789abcdef"[number % base];
        while ((number /= base) != 0 && first != digits);
        add(first);
    }

    void write() const {
        if (::write(STDERR_FILENO, text_, length_) < 0)
            return;  // stderr is closed: there is no way left to say it
    }

  private:
    char text_[512];
    std::size_t length_ = 0;
};

}  // namespace

void tw_port_tell(const char *broken, const void *node, unsigned state) {
    line said;
    said.add("tickwheel: ");
    if (node != nullptr) {
        said.add("node 0x");
        said.add(reinterpret_cast<std::uintptr_t>(node), 16);
        said.add(", state ");
        said.add(state, 10);
        said.add(": ");
    }
    said.add(broken);
    said.add("\n");
    said.write();
    std::abort();
}
