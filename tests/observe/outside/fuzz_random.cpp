// Plays fuzz.cpp with pieces of good requests and answers, in a random order and with random bytes in
// between.
#include <cstdio>
#include <string>

#include "answers.hpp"
#include "support/random.h"
#include "support/sanitized.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *bytes, std::size_t size);

namespace {

std::string histogram(const char *name) {
    std::string line = name;
    line += " 12 3";
    for (int i = 0; i < TW_BUCKETS; ++i)
        line.append(1, ' ').append(std::to_string(i));
    return line + "\n";
}

const std::string pieces[] = {"stats\n",
                              "pending 7\n",
                              "pid 17\n",
                              "process \"a \\\"b\\\" \\\\ \xc3\xa9\"\n",
                              "runtime -\n",
                              "tick_ns 1000000\n",
                              "pending 18446744073709551615\n",
                              "wakeups 3\n",
                              "label 1 2 3 4 5 \"\xe2\x82\xac \xf0\x9f\x95\x93\"\n",
                              "label 9223372036854775807 1 1 -9223372036854775808 9223372036854775807 -\n",
                              "timer -9223372036854775808 9223372036854775807 node \"x\"\n",
                              "timer 5 0 key -\n",
                              "label 1 2 3 4 5 \"\xc2\x9b\x33\x31m \xe2\x80\xae\xe2\x81\xa6\"\n",
                              "something else\n",
                              "\"\\u0007\"\n",
                              "\xc2\x9b",
                              "\xe2\x80\xae",
                              "label",
                              " ",
                              "\n",
                              "-",
                              "99999999999999999999",
                              histogram("ran"),
                              histogram("late_waking")};

std::string answer(std::uint64_t &seed) {
    std::string text;
    for (std::uint64_t n = random_below(&seed, 90); n > 0; --n) {
        text += pieces[static_cast<std::size_t>(random_below(&seed, std::size(pieces)))];
        if (random_below(&seed, 30) == 0 && !text.empty())
            text[static_cast<std::size_t>(random_below(&seed, text.size()))] =
                static_cast<char>(random_next(&seed));
    }
    return random_below(&seed, 8) == 0 ? text : text + "end\n";
}

}  // namespace

int main() {
    constexpr int lives = SLOW ? 4000 : 40000;
    int understood = 0;
    for (std::uint64_t first = 1; first <= lives; ++first) {
        std::uint64_t seed = first;
        const std::string text = answer(seed);
        LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t *>(text.data()), text.size());
        understood += tickwheel::top::read_stats(text).has_value();
    }
    std::printf("%d texts were read, %d of them made sense\n", lives, understood);
    return understood > lives / 1000 && understood < lives ? 0 : 1;
}
