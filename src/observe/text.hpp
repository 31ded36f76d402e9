// Formats text for humans and programs, and passes it to the user's function. Allocates nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>

#include <tickwheel/observe.h>

namespace tickwheel::observe {

class text_out {
  public:
    // cppcheck-suppress uninitMemberVar
    text_out(tw_text *write, void *arg) : write_(write), arg_(arg) {}
    ~text_out() { flush(); }
    text_out(const text_out &) = delete;
    text_out &operator=(const text_out &) = delete;

    // Prints at most 511 characters, and cuts longer text.
    // NOLINTNEXTLINE(cert-dcl50-cpp): the compiler checks its arguments
    [[gnu::format(printf, 2, 3)]] void print(const char *format, ...);

    // Writes one character; for text of any length.
    void put(char c);

  private:
    static constexpr std::size_t longest = 512;

    void flush();

    tw_text *write_;
    void *arg_;
    std::size_t used_ = 0;
    char buffer_[2048];
};

// A duration with at most three significant digits and its unit, such as "1.25 ms" or "-3 d".
struct short_duration {
    char text[24];

    explicit short_duration(std::int64_t ns) {
        struct unit {
            double ns;
            const char *name;
        };
        static constexpr unit units[] = {{1, "ns"},     {1e3, "us"},   {1e6, "ms"},   {1e9, "s"},
                                         {60e9, "min"}, {3600e9, "h"}, {86400e9, "d"}};
        const double size = ns < 0 ? -static_cast<double>(ns) : static_cast<double>(ns);
        const unit *chosen = units;
        for (const unit &each : units)
            if (size >= 0.9995 * each.ns)  // else %.3g would write 999.5 and more as 1e+03
                chosen = &each;
        const double value = size / chosen->ns;
        std::snprintf(text, sizeof text, value < 999.5 ? "%s%.3g %s" : "%s%.0f %s", ns < 0 ? "-" : "", value,
                      chosen->name);
    }
};

}  // namespace tickwheel::observe
