// Pieces of the text format of Prometheus, version 0.0.4.
#pragma once

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace tickwheel::durable {

// The value of a label, with its quotes. The text is UTF-8.
inline std::string label_text(std::string_view text) {
    std::string all = "\"";
    for (const char each : text) {
        if (each == '\n')
            all += "\\n";
        else if (each == '"' || each == '\\')
            all.append("\\").push_back(each);
        else
            all += each;
    }
    return all + '"';
}

// The lines before a metric.
inline std::string head_text(const char *name, const char *type, const char *help) {
    return std::string("# HELP ") + name + " " + help + "\n# TYPE " + name + " " + type + "\n";
}

// A duration in seconds.
inline std::string seconds_text(std::int64_t ns) {
    char text[32];
    std::snprintf(text, sizeof text, "%" PRId64 ".%06" PRId64, ns / 1'000'000'000, ns % 1'000'000'000 / 1000);
    return text;
}

}  // namespace tickwheel::durable
