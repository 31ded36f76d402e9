// Writes the user's texts in formats that other programs read. Labels may hold any bytes. A byte that is not
// valid UTF-8 becomes an escape such as \xff in all formats, because readers would otherwise reject the
// whole output.
#pragma once

#include <cstddef>
#include <cstdint>

#include "text.hpp"

namespace tickwheel::observe {

// Writes the inside of a quoted label value in the text format of Prometheus.
void put_for_prometheus(text_out &out, const char *text);

// Writes the inside of a JSON string: at most `most` bytes of the text.
void put_for_json(text_out &out, const char *text, std::size_t most = SIZE_MAX);

// True if a reader of the functions' output could not tell the two texts apart.
bool are_written_alike(const char *a, const char *b);

}  // namespace tickwheel::observe
