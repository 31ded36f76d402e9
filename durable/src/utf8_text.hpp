// UTF-8: what the databases accept as a text.
#pragma once

#include <cstddef>
#include <string>

namespace tickwheel::durable {

// The number of bytes of the character that begins here, or 0 if it is none: too long a form, a half of a
// surrogate pair, beyond the last one, or cut off. `text` ends with a zero byte.
inline std::size_t character_at(const unsigned char *text) {
    const unsigned char first = text[0];
    if (first < 0x80)
        return 1;
    if (first < 0xc2 || first > 0xf4)
        return 0;
    const std::size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    for (std::size_t i = 1; i < size; ++i)
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    const unsigned char second = text[1];
    const bool is_bad = (first == 0xe0 && second < 0xa0) || (first == 0xed && second >= 0xa0) ||
                        (first == 0xf0 && second < 0x90) || (first == 0xf4 && second >= 0x90);
    return is_bad ? 0 : size;
}

inline bool is_utf8(const char *text) {
    const auto *at = reinterpret_cast<const unsigned char *>(text);
    while (*at != 0) {
        const std::size_t size = character_at(at);
        if (size == 0)
            return false;
        at += size;
    }
    return true;
}

// The text with a question mark for each byte that belongs to no character.
inline std::string made_utf8(const char *text) {
    std::string all;
    const auto *at = reinterpret_cast<const unsigned char *>(text);
    while (*at != 0) {
        const std::size_t size = character_at(at);
        if (size == 0)
            all += '?';
        else
            all.append(reinterpret_cast<const char *>(at), size);
        at += size == 0 ? 1 : size;
    }
    return all;
}

}  // namespace tickwheel::durable
