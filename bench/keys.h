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

// The C++ library's hash for bytes. It is unseeded, so an attacker who chooses keys can make them
// collide.
struct KeyHash {
    std::size_t operator()(const Key &key) const {
        return std::hash<std::string_view>()({reinterpret_cast<const char *>(key.bytes), sizeof key.bytes});
    }
};

// A distinct, random-looking key for each number.
inline Key key_of(std::uint64_t number) {
    Random random(number);
    const std::uint64_t words[2] = {random.next(), random.next()};
    Key key;
    std::memcpy(key.bytes, words, sizeof key.bytes);
    return key;
}

}  // namespace bench

#endif
