// Texts of the program's in formats that other programs read. Labels may hold anything, also bytes that are
// no UTF-8; these are written as \xff in all formats, as readers would refuse the whole output otherwise.
#pragma once

#include <cstddef>
#include <cstdio>

#include "text.hpp"
#include "utf8.hpp"

namespace tickwheel::runtime {

// Writes at most `most` bytes of a text; plain(c) writes a character of one byte below 0x80.
template <class Plain> void put_characters(text_out &out, const char *text, std::size_t most, Plain plain) {
    for (std::size_t done = 0; *text != 0;) {
        const unsigned length = length_of_character(text);
        done += length == 0 ? 1 : length;
        if (done > most)
            return;
        if (length == 0)
            out.print("\\\\x%02x", static_cast<unsigned>(static_cast<unsigned char>(*text++)));
        else if (length == 1)
            plain(*text++);
        else
            for (unsigned i = 0; i < length; ++i)
                out.put(*text++);
    }
}

// The bytes of a text as put_characters writes them if each plain one is written as it is.
class written_text {
  public:
    explicit written_text(const char *text) : text_(text) {}

    char next() {
        if (*hex_left_ != 0)
            return *hex_left_++;
        if (left_ == 0) {
            left_ = *text_ != 0 ? length_of_character(text_) : 1;
            if (left_ == 0) {
                std::snprintf(hex_, sizeof hex_, "\\x%02x",
                              static_cast<unsigned>(static_cast<unsigned char>(*text_++)));
                hex_left_ = hex_ + 1;
                return hex_[0];
            }
        }
        --left_;
        return *text_ != 0 ? *text_++ : '\0';
    }

  private:
    const char *text_;
    unsigned left_ = 0;  // bytes of this character
    char hex_[5] = "";
    const char *hex_left_ = hex_;
};

inline bool are_written_alike(const char *a, const char *b) {
    written_text of_a(a), of_b(b);
    for (;;) {
        const char next = of_a.next();
        if (next != of_b.next())
            return false;
        if (next == 0)
            return true;
    }
}

// Between the quotes of a label's value, in the text format of Prometheus.
inline void put_for_prometheus(text_out &out, const char *text) {
    put_characters(out, text, SIZE_MAX, [&out](char c) {
        if (c == '"' || c == '\\' || c == '\n')
            out.put('\\');
        out.put(c == '\n' ? 'n' : c);
    });
}

// Between the quotes of a string of JSON.
inline void put_for_json(text_out &out, const char *text, std::size_t most = SIZE_MAX) {
    put_characters(out, text, most, [&out](char c) {
        if (c == '"' || c == '\\')
            out.put('\\');
        if (c < ' ' || c == 0x7F)
            out.print("\\u%04x", static_cast<unsigned>(c));
        else
            out.put(c);
    });
}

}  // namespace tickwheel::runtime
