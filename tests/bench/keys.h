// Keys of 16 bytes, for `keyed` and for tables/.
#ifndef TICKWHEEL_BENCH_KEYS_H
#define TICKWHEEL_BENCH_KEYS_H

#include <cstring>
#include <functional>
#include <string_view>
#include <vector>

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

inline std::vector<Key> random_keys(std::size_t count) {
    Random random(7);
    std::vector<Key> keys(count);
    for (Key &key : keys)
        for (std::size_t half = 0; half < 2; ++half) {
            const std::uint64_t word = random.next();
            std::memcpy(key.bytes + 8 * half, &word, sizeof word);
        }
    return keys;
}

}  // namespace bench

#endif
