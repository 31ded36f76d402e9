// See plain.hpp.
#include "plain.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <iterator>

#include "base/utf8.hpp"

namespace tickwheel::jobs {

namespace {

struct span {
    std::uint32_t first, last;
};

// Control characters, characters that change the writing direction, line separators, and invisible characters
// that are not part of the character before them.
constexpr span unseen[] = {{0x0, 0x1F},       {0x7F, 0x9F},     {0xAD, 0xAD},     {0x61C, 0x61C},
                           {0x180E, 0x180E},  {0x200B, 0x200F}, {0x2028, 0x202E}, {0x2060, 0x206F},
                           {0xFEFF, 0xFEFF},  {0xFFF0, 0xFFFB}, {0xFFFE, 0xFFFF}, {0x1D173, 0x1D17A},
                           {0xE0000, 0xE0FFF}};
constexpr span wide[] = {{0x1100, 0x115F},   {0x2E80, 0xA4CF},   {0xAC00, 0xD7A3},  {0xF900, 0xFAFF},
                         {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},  {0x1F300, 0x1F64F},
                         {0x1F680, 0x1F6FF}, {0x1F900, 0x1FAFF}, {0x20000, 0x3FFFD}};
constexpr span combining[] = {{0x300, 0x36F},   {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF},
                              {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}};

template <std::size_t Count> bool is_in(const span (&spans)[Count], std::uint32_t code) {
    return std::any_of(std::begin(spans), std::end(spans),
                       [code](const span &each) { return code >= each.first && code <= each.last; });
}

// One character of a text. A byte that belongs to no UTF-8 character counts as a character that is not good.
struct character {
    std::string_view bytes;
    std::uint32_t code;
    bool is_good;
};

// Calls each(character) for every character of a text, until `each` returns false.
template <class Each> void walk(std::string_view text, Each each) {
    const std::string whole(text);  // the final zero byte stops an incomplete character
    for (std::size_t at = 0; at < whole.size();) {
        const unsigned found = base::length_of_character(whole.c_str() + at);
        const std::size_t length = found != 0 ? found : 1;
        const auto first = static_cast<unsigned char>(whole[at]);
        std::uint32_t code = length == 1 ? first : first & (0x7Fu >> length);
        for (std::size_t i = 1; i < length; ++i)
            code = code << 6 | (static_cast<unsigned char>(whole[at + i]) & 0x3Fu);
        if (!each(character{text.substr(at, length), code, found != 0}))
            return;
        at += length;
    }
}

std::string print_code(const char *format, std::uint32_t code) {
    char text[16];
    std::snprintf(text, sizeof text, format, static_cast<unsigned>(code));
    return text;
}

std::string escape_of(const character &c) {
    if (c.is_good && c.code == '\n')
        return "\\n";
    if (c.is_good && c.code == '\t')
        return "\\t";
    return print_code(c.is_good && c.code >= 0x80 ? "\\u{%x}" : "\\x%02x", c.code);
}

std::string json_escape_of(std::uint32_t code) {
    if (code < 0x10000)
        return print_code("\\u%04x", code);
    code -= 0x10000;
    return print_code("\\u%04x", 0xD800 + (code >> 10)) + print_code("\\u%04x", 0xDC00 + (code & 0x3FF));
}

std::size_t width_of(const character &c) {
    return is_in(combining, c.code) ? 0 : is_in(wide, c.code) ? 2 : 1;
}

}  // namespace

std::string plain(std::string_view text) {
    std::string all;
    walk(text, [&](const character &c) {
        if (c.is_good && c.code == '\\')
            all += "\\\\";
        else if (!c.is_good || is_in(unseen, c.code))
            all += escape_of(c);
        else
            all += c.bytes;
        return true;
    });
    return all;
}

std::string plain_payload(std::string_view bytes) {
    bool is_text = true;
    walk(bytes, [&](const character &c) {
        is_text = c.is_good && (c.code == '\n' || c.code == '\t' || !is_in(unseen, c.code));
        return is_text;
    });
    return is_text ? '"' + plain(bytes) + '"' : "0x" + hex(bytes);
}

std::string json(std::string_view text) {
    std::string all = "\"";
    walk(text, [&](const character &c) {
        if (!c.is_good)
            all += "\\ufffd";
        else if (c.code == '"' || c.code == '\\')
            all.append("\\").append(c.bytes);
        else if (is_in(unseen, c.code))
            all += json_escape_of(c.code);
        else
            all += c.bytes;
        return true;
    });
    return all + '"';
}

bool is_utf8(std::string_view text) {
    bool is_good = true;
    walk(text, [&](const character &c) { return is_good = c.is_good; });
    return is_good;
}

std::string hex(std::string_view bytes) {
    constexpr char digits[] = "0123456789abcdef";
    std::string all;
    for (const char each : bytes) {
        all += digits[static_cast<unsigned char>(each) >> 4];
        all += digits[static_cast<unsigned char>(each) & 15];
    }
    return all;
}

std::size_t width_of(std::string_view plain) {
    std::size_t width = 0;
    walk(plain, [&](const character &c) {
        width += width_of(c);
        return true;
    });
    return width;
}

std::string cut(const std::string &plain, std::size_t columns) {
    if (width_of(std::string_view(plain)) <= columns)
        return plain;
    const std::string_view mark = std::string_view("...").substr(0, columns);
    std::size_t width = mark.size(), size = 0;
    walk(plain, [&](const character &c) {
        width += width_of(c);
        if (width > columns)
            return false;
        size += c.bytes.size();
        return true;
    });
    return plain.substr(0, size).append(mark);
}

}  // namespace tickwheel::jobs
