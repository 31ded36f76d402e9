// A duration for people: at most two units, "2 min 5 s", "3.2 s", "250 ms".
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

namespace tickwheel::durable {

// REQUIRES: ns >= 0
inline std::string duration_text(std::int64_t ns) {
    constexpr std::int64_t ms = 1'000'000, s = 1000 * ms, min = 60 * s, h = 60 * min, d = 24 * h;
    const auto two = [ns](std::int64_t longer, const char *name, std::int64_t shorter, const char *of_rest) {
        const std::int64_t rest = ns % longer / shorter;
        std::string text = std::to_string(ns / longer) + " " + name;
        return rest == 0 ? text : text + " " + std::to_string(rest) + " " + of_rest;
    };
    if (ns >= d)
        return two(d, "d", h, "h");
    if (ns >= h)
        return two(h, "h", min, "min");
    if (ns >= min)
        return two(min, "min", s, "s");
    char text[32];
    if (ns >= 10 * s)
        std::snprintf(text, sizeof text, "%d s", static_cast<int>(ns / s));
    else if (ns >= s)
        std::snprintf(text, sizeof text, "%d.%d s", static_cast<int>(ns / s),
                      static_cast<int>(ns % s / (100 * ms)));
    else
        std::snprintf(text, sizeof text, "%d ms", static_cast<int>(ns / ms));
    return text;
}

}  // namespace tickwheel::durable
