// Recognises UTF-8 characters. Includes nothing of the library, because tickwheel-top uses it, too.
#pragma once

namespace tickwheel::base {

// The length in bytes of the character at the start of `text`; 0 if there is no valid one. UTF-8 forbids
// overlong forms, surrogates and anything above U+10FFFF. A null byte ends the text.
inline unsigned length_of_character(const char *text) {
    const auto byte = [text](unsigned i) { return static_cast<unsigned char>(text[i]); };
    const auto follows = [&](unsigned i, unsigned from = 0x80, unsigned to = 0xBF) {
        return byte(i) >= from && byte(i) <= to;
    };
    const unsigned first = byte(0);
    if (first < 0x80)
        return 1;
    if (first >= 0xC2 && first <= 0xDF)
        return follows(1) ? 2 : 0;
    if (first >= 0xE0 && first <= 0xEF) {
        const unsigned from = first == 0xE0 ? 0xA0 : 0x80, to = first == 0xED ? 0x9F : 0xBF;
        return follows(1, from, to) && follows(2) ? 3 : 0;
    }
    if (first >= 0xF0 && first <= 0xF4) {
        const unsigned from = first == 0xF0 ? 0x90 : 0x80, to = first == 0xF4 ? 0x8F : 0xBF;
        return follows(1, from, to) && follows(2) && follows(3) ? 4 : 0;
    }
    return 0;
}

}  // namespace tickwheel::base
