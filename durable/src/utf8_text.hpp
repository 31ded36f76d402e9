// UTF-8, the only encoding of texts that the databases accept.
#pragma once

#include <string>

#include "base/utf8.hpp"

namespace tickwheel::durable {

inline bool is_utf8(const char *text) {
    while (*text != '\0') {
        const unsigned length = base::length_of_character(text);
        if (length == 0)
            return false;
        text += length;
    }
    return true;
}

// The text with a question mark for each byte that belongs to no character.
inline std::string made_utf8(const char *text) {
    std::string all;
    while (*text != '\0') {
        const unsigned length = base::length_of_character(text);
        if (length == 0)
            all += '?';
        else
            all.append(text, length);
        text += length == 0 ? 1 : length;
    }
    return all;
}

}  // namespace tickwheel::durable
