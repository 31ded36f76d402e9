// Prepares texts from the database for a terminal. A name may contain any UTF-8, a payload any bytes. Control
// characters, characters that change the writing direction and invisible ones become escapes. So does the
// backslash, so that no text looks like the escapes of another.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tickwheel::jobs {

// For people: \n, \x1b, \u{202e}; a byte that is not UTF-8 becomes \xff.
std::string plain(std::string_view text);

// A payload for people: in quotes if all of it is readable, otherwise 0x and its bytes in hexadecimal.
std::string plain_payload(std::string_view bytes);

// A JSON string, with its quotes. Bytes that are not UTF-8 become U+FFFD.
std::string json(std::string_view text);

bool is_utf8(std::string_view text);
std::string hex(std::string_view bytes);

// How many terminal columns a plain text takes.
std::size_t width_of(std::string_view plain);

// The start of a plain text, at most `columns` wide. It ends with "..." if the text is longer.
std::string cut(const std::string &plain, std::size_t columns);

}  // namespace tickwheel::jobs
