// A fixed set of bits, searched a word at a time. Zeroed memory is an empty set.
#pragma once

#include <tickwheel/tw.h>

#include <cstddef>

namespace tickwheel::core {

template <unsigned Size> class bitmap {
  public:
    void set(unsigned bit) { words_[bit / word_bits] |= one(bit); }
    void clear(unsigned bit) { words_[bit / word_bits] &= ~one(bit); }
    bool test(unsigned bit) const { return (words_[bit / word_bits] & one(bit)) != 0; }

    // The first set bit in [from, to); `to` if there is none. REQUIRES: from < to
    unsigned find(unsigned from, unsigned to) const {
        unsigned at = from / word_bits;
        word rest = words_[at] & (~word{0} << (from % word_bits));
        while (rest == 0) {
            if (++at * word_bits >= to)
                return to;
            rest = words_[at];
        }
        const unsigned found = at * word_bits + lowest(rest);
        return found < to ? found : to;
    }

    // The last set bit in [0, from]; Size if there is none.
    unsigned find_last(unsigned from) const {
        unsigned at = from / word_bits;
        word rest = words_[at] & (~word{0} >> (word_bits - 1 - from % word_bits));
        while (rest == 0) {
            if (at == 0)
                return Size;
            rest = words_[--at];
        }
        return at * word_bits + highest(rest);
    }

  private:
    using word = std::size_t;
    static constexpr unsigned word_bits = 8 * sizeof(word);
    static unsigned lowest(word bits) {
        return static_cast<unsigned>(sizeof bits == sizeof(unsigned)
                                         ? __builtin_ctz(static_cast<unsigned>(bits))
                                         : __builtin_ctzll(bits));
    }
    static unsigned highest(word bits) {
        return static_cast<unsigned>(sizeof bits == sizeof(unsigned)
                                         ? 31 - __builtin_clz(static_cast<unsigned>(bits))
                                         : 63 - __builtin_clzll(bits));
    }
    static constexpr word one(unsigned bit) { return word{1} << (bit % word_bits); }

    word words_[(Size + word_bits - 1) / word_bits];
};

}  // namespace tickwheel::core
