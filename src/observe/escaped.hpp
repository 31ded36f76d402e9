// Texts of the program's in formats that other programs read. Labels may hold anything, also bytes that are
// no UTF-8; these are written as \xff in all formats, as readers would refuse the whole output otherwise.
#pragma once

#include <cstddef>
#include <cstdint>

#include "text.hpp"

namespace tickwheel::observe {

// Between the quotes of a label's value, in the text format of Prometheus.
void put_for_prometheus(text_out &out, const char *text);

// Between the quotes of a string of JSON: at most `most` bytes of the text.
void put_for_json(text_out &out, const char *text, std::size_t most = SIZE_MAX);

// Two texts that the functions above cannot tell apart.
bool are_written_alike(const char *a, const char *b);

}  // namespace tickwheel::observe
