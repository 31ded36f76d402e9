// Feeds arbitrary bytes to the parser of requests in the library's server, and to the parser of answers in
// tickwheel-top. Whatever the bytes are, memory and time are bounded, and no output can harm a terminal.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "answers.hpp"
#include "base/utf8.hpp"
#include "observe/inspect_request.hpp"
#include "view.hpp"

namespace {

using tickwheel::observe::inspect::request;

// Stops the program if the condition is false, in builds without assertions, too.
void expect(bool holds) {
    if (!holds)
        std::abort();
}

// Takes requests off the front one by one, as the server does.
void read_requests(std::string_view bytes) {
    using namespace tickwheel::observe::inspect;
    while (!bytes.empty()) {
        const request parsed = read_request(bytes.substr(0, longest_request));
        if (parsed.what == request::incomplete || parsed.what == request::wrong) {
            expect(parsed.what == request::wrong || bytes.size() < longest_request);
            return;
        }
        expect(parsed.size > 1 && parsed.size <= longest_request && parsed.size <= bytes.size());
        expect(bytes[parsed.size - 1] == '\n' && parsed.timers <= most_timers);
        expect(parsed.what == request::stats ? bytes.starts_with("stats\n") : bytes.starts_with("pending "));
        bytes.remove_prefix(parsed.size);
    }
}

// Only printable characters in UTF-8, and none that changes the direction of writing.
void expect_harmless(const std::string &line) {
    for (const char *at = line.c_str(); at < line.c_str() + line.size();) {
        const unsigned length = tickwheel::base::length_of_character(at);
        const auto first = static_cast<unsigned char>(at[0]), second = static_cast<unsigned char>(at[1]);
        expect(length != 0 && first >= ' ' && first != 0x7F && (first != 0xC2 || second >= 0xA0));
        const auto third = length == 3 ? static_cast<unsigned char>(at[2]) : 0;
        expect(first != 0xE2 || second != 0x80 || third < 0xAA || third > 0xAE);
        expect(first != 0xE2 || second != 0x81 || third < 0xA6 || third > 0xA9);
        at += length;
    }
}

void read_answers(std::string_view bytes) {
    using namespace tickwheel::top;
    sample now = {}, before = {};
    const auto told = read_stats(bytes);
    const auto timers = read_timers(bytes);
    expect(is_whole(bytes) || (!told && !timers));
    if (told) {
        expect(told->labels.size() <= most_rows);
        now.told = before.told = *told;
    }
    if (timers) {
        expect(timers->size() <= most_rows);
        now.timers = *timers;
    }
    now.at = 1;
    for (const std::string &line : show(now, nullptr))
        expect_harmless(line);
    for (const std::string &line : show(now, &before))
        expect_harmless(cut(line, 20));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *bytes, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *bytes, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char *>(bytes), size);
    read_requests(text);
    read_answers(text);
    return 0;
}
