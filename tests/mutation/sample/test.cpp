#include "sample.hpp"

#include <cstring>

int main() {
    table t;
    t.add(2);
    t.add(5);
    const bool is_right = t.used == 2 && t.sum() == 7 && clamp(7, 3) == 3 && clamp(1, 3) == 1 &&
                          rounds(12) == 4 && rounds(13) == 5 && std::strcmp(name_of(0), "red") == 0 &&
                          std::strcmp(name_of(1), "blue") == 0 && low_bits(0xff) == 7 && low_bits(8) == 0;
    return is_right ? 0 : 1;
}
