// See zone.hpp. A file may be damaged, or written by an attacker, so this code checks each of its numbers
// before use.
#include "zone.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>

namespace tickwheel::calendar {

namespace {

using file_bytes = std::span<const unsigned char>;

constexpr std::size_t file_max = std::size_t{256} << 10;  // the largest files in use have 4 KiB

// The years for which `follow` computes the changes of a rule. They begin early enough for the furthest local
// time to be right in 1970.
constexpr int first_year = 1968;
constexpr int last_year = 2201;

std::int64_t new_year(int year) {
    const std::chrono::sys_days day = std::chrono::year(year) / std::chrono::January / 1;
    return std::chrono::seconds(day.time_since_epoch()).count();
}

// --- the format -----------------------------------------------------------------------------

std::uint32_t unsigned_32(const unsigned char *at) {
    return std::uint32_t{at[0]} << 24 | std::uint32_t{at[1]} << 16 | std::uint32_t{at[2]} << 8 | at[3];
}
std::int64_t signed_32(const unsigned char *at) { return static_cast<std::int32_t>(unsigned_32(at)); }
std::int64_t signed_64(const unsigned char *at) {
    return static_cast<std::int64_t>(std::uint64_t{unsigned_32(at)} << 32 | unsigned_32(at + 4));
}

constexpr std::size_t header_size = 44;
constexpr std::size_t type_size = 6;  // offset, is summer time, index of the abbreviation

// A file of version 1 has one part, with times of 4 bytes. A later one has a second part with the same
// content and times of 8 bytes, and then a rule. A part begins with a header of counts. After that come the
// times of the changes, for each change an index into the types, the types, and fields that are of no use
// here.
struct part {
    unsigned char version;
    std::uint64_t utc_flags, standard_flags, leap_seconds, times, types, name_bytes;
    std::size_t time_size;
    std::uint64_t size;  // with the header
    file_bytes bytes;

    [[nodiscard]] bool is_sound() const;
    [[nodiscard]] bool has_sound_types() const;
    [[nodiscard]] zone_change change(std::size_t i) const;
    [[nodiscard]] std::size_t type_of(std::size_t i) const {
        return bytes[header_size + times * time_size + i];
    }
    [[nodiscard]] const unsigned char *type(std::size_t i) const {
        return &bytes[header_size + times * (time_size + 1) + i * type_size];
    }
    [[nodiscard]] std::int32_t offset(std::size_t of_type) const {
        return static_cast<std::int32_t>(signed_32(type(of_type)));
    }
};

// Returns true and stores the part if the file begins with one that is as long as its header says.
bool read_part(file_bytes file, std::size_t time_size, part &out) {
    if (file.size() < header_size || std::memcmp(file.data(), "TZif", 4) != 0)
        return false;
    const auto count = [file](std::size_t i) { return std::uint64_t{unsigned_32(&file[20 + 4 * i])}; };
    out = {file[4], count(0), count(1), count(2), count(3), count(4), count(5), time_size, 0, {}};
    out.size = header_size + out.times * (time_size + 1) + out.types * type_size + out.name_bytes +
               out.leap_seconds * (time_size + 4) + out.standard_flags + out.utc_flags;
    if (out.size > file.size())
        return false;
    out.bytes = file.first(out.size);
    return true;
}

bool part::is_sound() const {
    return leap_seconds == 0 && types >= 1 && types <= 256 && name_bytes >= 1 &&
           (utc_flags == 0 || utc_flags == types) && (standard_flags == 0 || standard_flags == types) &&
           has_sound_types();
}

bool part::has_sound_types() const {
    constexpr std::int64_t offset_max = std::int64_t{26} * 3600;
    for (std::size_t i = 0; i < types; ++i) {
        const unsigned char *const record = type(i);
        if (std::abs(signed_32(record)) >= offset_max || record[4] > 1 || record[5] >= name_bytes)
            return false;
    }
    for (std::size_t i = 0; i < times; ++i) {
        if (type_of(i) >= types)
            return false;
    }
    return true;
}

zone_change part::change(std::size_t i) const {
    const unsigned char *const time = &bytes[header_size + i * time_size];
    return {time_size == 8 ? signed_64(time) : signed_32(time), offset(type_of(i))};
}

// The useful content of a file.
struct contents {
    part list;
    std::string_view rule;  // empty: none
};

bool read_rule(file_bytes rest, std::string_view &rule) {
    const std::string_view text(reinterpret_cast<const char *>(rest.data()), rest.size());
    const std::size_t end = text.find('\n', 1);
    if (text.empty() || text.front() != '\n' || end == std::string_view::npos)
        return false;
    rule = text.substr(1, end - 1);
    return true;
}

bool read_contents(file_bytes file, contents &out) {
    if (!read_part(file, 4, out.list))
        return false;
    if (out.list.version == 0)
        return out.list.is_sound();
    const file_bytes rest = file.subspan(out.list.size);
    return out.list.version >= '2' && read_part(rest, 8, out.list) && out.list.is_sound() &&
           read_rule(rest.subspan(out.list.size), out.rule);
}

// --- the files ------------------------------------------------------------------------------

bool is_letter_or_digit(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// True for a path of one or more words that begin with a letter or digit. No zone has a dot in its name, so
// no valid name leads out of the folder.
bool is_name(std::string_view name) {
    if (name.empty() || name.size() > zone::name_max || name.back() == '/')
        return false;
    bool begins_word = true;
    for (const char c : name) {
        if (!is_letter_or_digit(c) && (begins_word || (c != '_' && c != '-' && c != '+' && c != '/')))
            return false;
        begins_word = c == '/';
    }
    return true;
}

// Passes on the errors that mean that the system cannot read any file now. The others mean that there is no
// such zone.
int error_of_system(int error) {
    return error == EMFILE || error == ENFILE || error == EIO || error == ENOMEM ? -error : -EINVAL;
}

struct open_file {
    int descriptor;
    explicit open_file(const char *path)
        : descriptor(open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)) {}
    open_file(const open_file &) = delete;
    open_file &operator=(const open_file &) = delete;
    ~open_file() {
        if (descriptor >= 0)
            close(descriptor);
    }
};

// Reads a regular file that is not too large. Returns 0, -ENOENT if there is no such file, or another error
// of zone::load.
int read_file(const std::string &path, std::vector<unsigned char> &bytes) {
    const open_file file(path.c_str());
    struct stat status {};
    if (file.descriptor < 0)
        return errno == ENOENT ? -ENOENT : error_of_system(errno);
    if (fstat(file.descriptor, &status) != 0)
        return error_of_system(errno);
    if (!S_ISREG(status.st_mode) || status.st_size > static_cast<off_t>(file_max))
        return -EINVAL;
    bytes.resize(static_cast<std::size_t>(status.st_size));
    std::size_t filled = 0;
    while (filled < bytes.size()) {
        const ssize_t got = read(file.descriptor, &bytes[filled], bytes.size() - filled);
        if (got < 0 && errno != EINTR)
            return error_of_system(errno);
        if (got == 0)
            break;
        filled += got > 0 ? static_cast<std::size_t>(got) : 0;
    }
    bytes.resize(filled);
    return 0;
}

int read_zone_file(std::string_view name, std::vector<unsigned char> &bytes) {
    const char *const chosen = secure_getenv("TZDIR");
    if (chosen != nullptr && *chosen != '\0')
        return read_file(std::string(chosen).append("/").append(name), bytes);
    int result = -ENOENT;
    for (const char *folder : {"/usr/share/zoneinfo/", "/usr/lib/zoneinfo/", "/usr/share/lib/zoneinfo/"}) {
        result = read_file(std::string(folder).append(name), bytes);
        if (result != -ENOENT)
            break;
    }
    return result;
}

}  // namespace

// --- a zone ---------------------------------------------------------------------------------

zone::zone() : zone(0) {}

zone::zone(std::int32_t first_offset) : changes_{{the_beginning, 2 * the_beginning, first_offset}} {}

int zone::load(const char *name, zone &out) {
    const std::string_view text(name, strnlen(name, name_max + 1));
    if (!is_name(text))
        return -EINVAL;
    if (text == "UTC" || text == "Etc/UTC") {
        out = zone();
        return 0;
    }
    std::vector<unsigned char> bytes;
    const int result = read_zone_file(text, bytes);
    if (result != 0)
        return result == -ENOENT ? -EINVAL : result;
    return parse(bytes, out);
}

int zone::parse(file_bytes file, zone &out) {
    contents found{};
    zone_rule rule;
    if (!read_contents(file, found) || (!found.rule.empty() && !zone_rule::parse(found.rule, rule)))
        return -EINVAL;
    zone made(found.list.offset(0));
    std::int64_t last = the_beginning;
    for (std::size_t i = 0; i < found.list.times; ++i) {
        const zone_change next = found.list.change(i);
        if (next.at <= last || next.at >= the_end)
            return -EINVAL;
        made.add(next);
        last = next.at;
    }
    if (!found.rule.empty())
        made.follow(rule, last);
    out = std::move(made);
    return 0;
}

// Adds a change that comes after all others, or at the same time as the last one, which it then replaces.
void zone::add(const zone_change &next) {
    if (changes_.back().at == next.at)
        changes_.pop_back();
    const change &former = changes_.back();
    if (former.offset != next.offset)
        changes_.push_back({next.at, std::max(former.reached, next.at + former.offset), next.offset});
}

// Adds the changes that a rule makes after `last_listed`, the last change that the file lists.
void zone::follow(const zone_rule &rule, std::int64_t last_listed) {
    const std::int64_t begin = std::max(last_listed, new_year(first_year));
    if (!rule.has_summer() || begin >= new_year(last_year)) {
        add({begin, rule.standard_offset()});
        return;
    }
    std::vector<zone_change> changes;
    for (int year = first_year - 1; year <= last_year; ++year) {
        const auto both = rule.changes_in(year);
        changes.insert(changes.end(), both.begin(), both.end());
    }
    // Where summer time lasts all year, its end in one year and its start in the next are at the same time.
    // Of two changes at the same time, the one that is later in this list counts, so the sort must be stable.
    std::stable_sort(changes.begin(), changes.end(),
                     [](const zone_change &a, const zone_change &b) { return a.at < b.at; });
    auto next = std::upper_bound(changes.begin(), changes.end(), begin,
                                 [](std::int64_t at, const zone_change &c) { return at < c.at; });
    add({begin, next == changes.begin() ? rule.standard_offset() : std::prev(next)->offset});
    for (; next != changes.end(); ++next)
        add(*next);
}

std::size_t zone::index_at(std::int64_t utc) const {
    const auto next = std::upper_bound(changes_.begin() + 1, changes_.end(), utc,
                                       [](std::int64_t time, const change &c) { return time < c.at; });
    return static_cast<std::size_t>(next - changes_.begin()) - 1;
}

zone_span zone::at(std::int64_t utc) const {
    const std::size_t i = index_at(utc);
    return {changes_[i].at, i + 1 < changes_.size() ? changes_[i + 1].at : the_end, changes_[i].offset};
}

std::int64_t zone::furthest(std::int64_t utc) const {
    const change &last = changes_[index_at(utc)];
    return std::max(last.reached - 1, utc + last.offset);
}

std::int64_t zone::reaches(std::int64_t local) const {
    const auto next = std::upper_bound(changes_.begin() + 1, changes_.end(), local,
                                       [](std::int64_t time, const change &c) { return time < c.reached; });
    const change &last = *std::prev(next);
    return std::max(last.at, local - last.offset);
}

}  // namespace tickwheel::calendar
