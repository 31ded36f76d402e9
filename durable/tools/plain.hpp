// Texts of others on their way to a terminal. A name may hold anything that is UTF-8, a payload any bytes:
// characters that a terminal obeys, that turn the direction of writing or that cannot be seen are written as
// escapes. So is the backslash, so that no two texts look alike.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tickwheel::jobs {

// For people: \n, \x1b, \u{202e}; a byte that is no UTF-8 as \xff.
std::string plain(std::string_view text);

// A payload for people: in quotes if all of it can be read, else 0x and its bytes in hexadecimal.
std::string plain_payload(std::string_view bytes);

// A string of JSON, with its quotes. Bytes that are no UTF-8 become U+FFFD.
std::string json(std::string_view text);

bool is_utf8(std::string_view text);
std::string hex(std::string_view bytes);

// How many columns of a terminal a plain text takes.
std::size_t width_of(std::string_view plain);

// The beginning of a plain text, with "..." if that is not all: at most so many columns.
std::string cut(const std::string &plain, std::size_t columns);

}  // namespace tickwheel::jobs
