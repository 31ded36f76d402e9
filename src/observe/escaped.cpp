#include "escaped.hpp"

#include <cstdio>

#include "base/utf8.hpp"

namespace tickwheel::observe {
namespace {

// Writes at most the first `most` bytes of a text. put_plain writes each ASCII character.
void put_characters(text_out &out, const char *text, std::size_t most, void (*put_plain)(text_out &, char)) {
    for (std::size_t done = 0; *text != 0;) {
        const unsigned length = base::length_of_character(text);
        done += length == 0 ? 1 : length;
        if (done > most)
            return;
        if (length == 0)
            out.print("\\\\x%02x", static_cast<unsigned>(static_cast<unsigned char>(*text++)));
        else if (length == 1)
            put_plain(out, *text++);
        else
            for (unsigned i = 0; i < length; ++i)
                out.put(*text++);
    }
}

// Produces the text that a reader gets after decoding the output of put_characters.
class written_text {
  public:
    explicit written_text(const char *text) : text_(text) {}

    char next() {
        if (*hex_left_ != 0)
            return *hex_left_++;
        if (left_ == 0) {
            left_ = *text_ != 0 ? base::length_of_character(text_) : 1;
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
    unsigned left_ = 0;  // bytes left of the current character
    char hex_[5] = "";
    const char *hex_left_ = hex_;
};

}  // namespace

bool are_written_alike(const char *a, const char *b) {
    written_text of_a(a), of_b(b);
    for (;;) {
        const char next = of_a.next();
        if (next != of_b.next())
            return false;
        if (next == 0)
            return true;
    }
}

void put_for_prometheus(text_out &out, const char *text) {
    put_characters(out, text, SIZE_MAX, [](text_out &to, char c) {
        if (c == '"' || c == '\\' || c == '\n')
            to.put('\\');
        to.put(c == '\n' ? 'n' : c);
    });
}

void put_for_json(text_out &out, const char *text, std::size_t most) {
    put_characters(out, text, most, [](text_out &to, char c) {
        if (c == '"' || c == '\\')
            to.put('\\');
        if (c < ' ' || c == 0x7F)
            to.print("\\u%04x", static_cast<unsigned>(c));
        else
            to.put(c);
    });
}

}  // namespace tickwheel::observe
