// SipHash (Aumasson and Bernstein, 2012): an attacker who does not know the seed cannot choose colliding
// keys.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tickwheel::timers {

struct sip_seed {
    std::uint64_t first, second;
};

// With 2 and 4 rounds this is the published function; hash tables usually take 1 and 3.
// Different domains give unrelated hashes, as if their seeds differed.
template <int Rounds, int LastRounds> class siphash {
  public:
    explicit siphash(const sip_seed &seed, std::uint64_t domain = 0)
        : v0_(seed.first ^ 0x736f6d6570736575), v1_(seed.second ^ domain ^ 0x646f72616e646f6d),
          v2_(seed.first ^ 0x6c7967656e657261), v3_(seed.second ^ 0x7465646279746573) {}

    std::uint64_t of(const void *bytes, std::size_t size) {
        const auto *at = static_cast<const unsigned char *>(bytes);
        std::size_t left = size;
        for (; left >= 8; at += 8, left -= 8)
            take(word(at));
        std::uint64_t last = static_cast<std::uint64_t>(size) << 56;
        for (std::size_t i = 0; i < left; ++i)
            last |= static_cast<std::uint64_t>(at[i]) << (8 * i);
        take(last);
        return finish();
    }

  private:
    static std::uint64_t word(const unsigned char *bytes) {
        std::uint64_t word;
        std::memcpy(&word, bytes, sizeof word);
        return std::endian::native == std::endian::little ? word : __builtin_bswap64(word);
    }

    void take(std::uint64_t word) {
        v3_ ^= word;
        for (int i = 0; i < Rounds; ++i)
            round();
        v0_ ^= word;
    }

    std::uint64_t finish() {
        v2_ ^= 0xff;
        for (int i = 0; i < LastRounds; ++i)
            round();
        return v0_ ^ v1_ ^ v2_ ^ v3_;
    }

    void round() {
        v0_ += v1_;
        v2_ += v3_;
        v1_ = std::rotl(v1_, 13) ^ v0_;
        v3_ = std::rotl(v3_, 16) ^ v2_;
        v0_ = std::rotl(v0_, 32);
        v2_ += v1_;
        v0_ += v3_;
        v1_ = std::rotl(v1_, 17) ^ v2_;
        v3_ = std::rotl(v3_, 21) ^ v0_;
        v2_ = std::rotl(v2_, 32);
    }

    std::uint64_t v0_, v1_, v2_, v3_;
};

}  // namespace tickwheel::timers
