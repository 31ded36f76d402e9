// See answers.hpp.
#include "answers.hpp"

#include <charconv>

#include "base/utf8.hpp"

namespace tickwheel::top {

namespace {

constexpr std::string_view last_line = "end\n";

// False for characters that act on a terminal or mislead a reader: C1 controls (U+0080 .. U+009F), and
// controls of the writing direction (U+202A .. U+202E, U+2066 .. U+2069).
bool is_plain(std::string_view character) {
    const auto byte = [character](std::size_t i) { return static_cast<unsigned char>(character[i]); };
    if (character.size() == 2)
        return byte(0) != 0xC2 || byte(1) >= 0xA0;
    if (character.size() != 3 || byte(0) != 0xE2)
        return true;
    const bool embeds = byte(1) == 0x80 && byte(2) >= 0xAA && byte(2) <= 0xAE;
    const bool isolates = byte(1) == 0x81 && byte(2) >= 0xA6 && byte(2) <= 0xA9;
    return !embeds && !isolates;
}

// Takes the words off a line one by one. One missing or wrong word makes the whole line wrong.
class words {
  public:
    explicit words(std::string_view line) : rest_(line) {}

    std::string_view next() {
        const std::size_t end = rest_.find(' ');
        const std::string_view word = rest_.substr(0, end);
        rest_ = end == std::string_view::npos ? std::string_view() : rest_.substr(end + 1);
        is_good_ = is_good_ && !word.empty();
        return word;
    }

    template <class Number> Number number() {
        const std::string_view word = next();
        Number value = 0;
        const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
        is_good_ = is_good_ && error == std::errc() && end == word.data() + word.size();
        return value;
    }

    // Takes the rest of the line: a JSON string, or `-` for none. Decodes only the escapes of quote and
    // backslash, and keeps the others, which stand for characters that cannot be shown.
    std::optional<std::string> text() {
        const std::string_view all = rest_;
        rest_ = {};
        if (all == "-")
            return std::nullopt;
        is_good_ = is_good_ && all.size() >= 2 && all.front() == '"' && all.back() == '"';
        return is_good_ ? unescaped(all.substr(1, all.size() - 2)) : std::nullopt;
    }

    bool is_over() const { return is_good_ && rest_.empty(); }

  private:
    std::optional<std::string> unescaped(std::string_view inside) {
        const std::string whole(inside);  // its final null byte bounds every character
        std::string plain;
        for (std::size_t at = 0; at < whole.size();) {
            const unsigned length = base::length_of_character(whole.c_str() + at);
            const std::string_view character = std::string_view(whole).substr(at, length);
            if (length == 0 || character.front() == '"' ||
                static_cast<unsigned char>(character.front()) < ' ' || character == "\x7F") {
                is_good_ = false;
                return std::nullopt;
            }
            at += length;
            if (character == "\\" && at < whole.size() && (whole[at] == '"' || whole[at] == '\\'))
                plain += whole[at++];
            else if (length == 1 || is_plain(character))
                plain += character;
            else
                plain += '?';
        }
        return plain;
    }

    std::string_view rest_;
    bool is_good_ = true;
};

std::string text_or_nothing(words &line) { return line.text().value_or(""); }

void read_histogram(words &line, tw_histogram &to) {
    to.sum_ns = line.number<std::int64_t>();
    to.max_ns = line.number<std::int64_t>();
    for (std::uint64_t &count : to.counts)
        count = line.number<std::uint64_t>();
}

void read_label(words &line, stats &to) {
    label_row row = {};
    row.fires = line.number<std::uint64_t>();
    row.cancels = line.number<std::uint64_t>();
    row.overruns = line.number<std::uint64_t>();
    row.sum_ns = line.number<std::int64_t>();
    row.max_ns = line.number<std::int64_t>();
    row.label = line.text();
    to.labels.push_back(std::move(row));
}

// Does not return an unknown word: it would reach the terminal as it is.
std::string clock_named(std::string_view word) {
    for (const std::string_view known : {"monotonic", "boot", "wall", "virtual"})
        if (word == known)
            return std::string(known);
    return "unknown";
}

// Ignores a line with an unknown name: it comes from a later version.
bool read_line(std::string_view text, stats &to) {
    words line(text);
    const std::string_view name = line.next();
    if (name == "pid")
        to.pid = line.number<std::uint64_t>();
    else if (name == "process")
        to.process = text_or_nothing(line);
    else if (name == "runtime")
        to.runtime = text_or_nothing(line);
    else if (name == "driver")
        to.driver = text_or_nothing(line);
    else if (name == "clock")
        to.clock = clock_named(line.next());
    else if (name == "tick_ns")
        to.tick_ns = line.number<std::uint64_t>();
    else if (name == "pending")
        to.pending = line.number<std::uint64_t>();
    else if (name == "wakeups")
        to.wakeups = line.number<std::uint64_t>();
    else if (name == "ran")
        read_histogram(line, to.ran);
    else if (name == "late_waking")
        read_histogram(line, to.late[TW_LATE_WAKING]);
    else if (name == "late_callbacks")
        read_histogram(line, to.late[TW_LATE_CALLBACKS]);
    else if (name == "late_budget")
        read_histogram(line, to.late[TW_LATE_BUDGET]);
    else if (name == "label")
        read_label(line, to);
    else
        return !name.empty();
    return line.is_over() && to.labels.size() <= most_rows;
}

bool read_line(std::string_view text, std::vector<timer_row> &to) {
    words line(text);
    if (line.next() != "timer")
        return !text.empty() && text.front() != ' ';
    timer_row row = {};
    row.remaining_ns = line.number<std::int64_t>();
    row.period_ns = line.number<std::int64_t>();
    const std::string_view kind = line.next();
    row.kind = kind == "node" ? "node" : kind == "key" ? "key" : "handle";
    row.label = line.text();
    to.push_back(std::move(row));
    return line.is_over() && to.size() <= most_rows;
}

template <class Answer> std::optional<Answer> read(std::string_view text) {
    Answer answer;
    if (text.size() > longest_answer || !text.ends_with(last_line))
        return std::nullopt;
    text.remove_suffix(last_line.size());
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        if (end == std::string_view::npos || !read_line(text.substr(0, end), answer))
            return std::nullopt;
        text.remove_prefix(end + 1);
    }
    return answer;
}

}  // namespace

bool is_whole(std::string_view text) {
    return text.size() > longest_answer || text == last_line || text.ends_with("\nend\n");
}

std::optional<stats> read_stats(std::string_view text) { return read<stats>(text); }
std::optional<std::vector<timer_row>> read_timers(std::string_view text) {
    return read<std::vector<timer_row>>(text);
}

}  // namespace tickwheel::top
