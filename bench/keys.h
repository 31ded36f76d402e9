// Keys of 16 bytes, for `keyed` and for tables/.
#ifndef TICKWHEEL_BENCH_KEYS_H
#define TICKWHEEL_BENCH_KEYS_H

#include <cstring>
#include <functional>
#include <string_view>

#include "inputs.h"

namespace bench {

struct Key {
    unsigned char bytes[16];
    bool operator==(const Key &other) const { return std::memcmp(bytes, other.bytes, sizeof bytes) == 0; }
};

// What the C++ library has for bytes; known to everyone who can read.
struct KeyHash {
    std::size_t operator()(const Key &key) const {
        return std::hash<std::string_view>()({reinterpret_cast<const char *>(key.bytes), sizeof key.bytes});
    }
};

// A key for each number, random as far as a hash can tell.
inline Key key_of(std::uint64_t number) {
    Random random(number);
    const std::uint64_t words[2] = {random.next(), random.next()};
    Key key;
    std::memcpy(key.bytes, words, sizeof key.bytes);
    return key;
}

}  // namespace bench

#endif
