// What reads the bytes of strangers: the requests of a client, and the answers of a server.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>

// Stops the program if something does not hold; in builds without assertions, too.
inline void expect(bool holds) {
    if (!holds)
        std::abort();
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *bytes, std::size_t size);
