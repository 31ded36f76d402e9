#include "text.hpp"

#include <cstdarg>

namespace tickwheel::observe {

// NOLINTNEXTLINE(cert-dcl50-cpp): the compiler checks its arguments
void text_out::print(const char *format, ...) {
    if (sizeof buffer_ - used_ < longest)
        flush();
    va_list arguments;
    va_start(arguments, format);
    const int length = std::vsnprintf(buffer_ + used_, longest, format, arguments);
    va_end(arguments);
    const auto size = static_cast<std::size_t>(length < 0 ? 0 : length);
    used_ += size < longest ? size : longest - 1;
}

void text_out::put(char c) {
    if (used_ == sizeof buffer_)
        flush();
    buffer_[used_++] = c;
}

void text_out::flush() {
    if (used_ != 0)
        write_(buffer_, used_, arg_);
    used_ = 0;
}

}  // namespace tickwheel::observe
