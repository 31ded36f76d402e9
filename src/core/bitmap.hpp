// A fixed set of bits that can be searched a word at a time.
#pragma once

#include <bit>
#include <cstddef>

namespace tickwheel::core {

template <unsigned Size> class bitmap {
  public:
    void set(unsigned bit) { words_[bit / word_bits] |= one(bit); }
    void clear(unsigned bit) { words_[bit / word_bits] &= ~one(bit); }
    bool test(unsigned bit) const { return (words_[bit / word_bits] & one(bit)) != 0; }

    // How many bits from this one on are clear for certain: to the next one that is set, or
    // to the end of the word.
    unsigned clear_from(unsigned bit) const {
        const word rest = words_[bit / word_bits] >> (bit % word_bits);
        return rest == 0 ? word_bits - bit % word_bits : static_cast<unsigned>(std::countr_zero(rest));
    }

  private:
    using word = std::size_t;
    static constexpr unsigned word_bits = 8 * sizeof(word);
    static constexpr word one(unsigned bit) { return word{1} << (bit % word_bits); }

    word words_[(Size + word_bits - 1) / word_bits];
};

}  // namespace tickwheel::core
