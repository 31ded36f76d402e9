// Tells zones.py what zones say. Each line of input is the name of a zone and times in UTC; the answer is a
// line with the offset at each. A line with the name alone asks for all changes from 1970 to 2200. `refused
// N` is the answer about a zone that cannot be loaded.
#include "durable/zone.hpp"

#include <iostream>
#include <sstream>
#include <string>

namespace {

using tickwheel::durable::zone;

constexpr std::int64_t end_of_2200 = 7289654400;

void tell_changes(const zone &it) {
    for (auto span = it.at(0); span.end < end_of_2200; span = it.at(span.end))
        std::cout << span.end << ' ';
}

void answer(const std::string &line) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    zone it;
    if (const int error = zone::load(name.c_str(), it); error != 0) {
        std::cout << "refused " << error << std::endl;
        return;
    }
    std::int64_t utc = 0;
    bool has_times = false;
    for (; words >> utc; has_times = true)
        std::cout << it.at(utc).offset << ' ';
    if (!has_times)
        tell_changes(it);
    std::cout << std::endl;
}

}  // namespace

int main() {
    for (std::string line; std::getline(std::cin, line);)
        answer(line);
}
