// Tests zone.hpp and zone_rule.hpp of calendar/src: the offsets of zones, and the files and names that are
// refused.
#include "calendar/src/zone.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "calendar/src/calendar.hpp"
#include "support/dates.hpp"
#include "support/environment.h"
#include "support/random.h"
#include "support/test.h"

namespace {

using tickwheel::calendar::calendar;
using tickwheel::calendar::zone;
using tickwheel::calendar::zone_change;
using tickwheel::calendar::zone_rule;
using tickwheel::calendar::zone_span;
using tickwheel::test::date;
using tickwheel::test::texts_in;
using bytes = std::vector<unsigned char>;

constexpr std::int64_t end_of_2200 = 7289654400;

zone load(const char *name) {
    zone loaded;
    assert_int_equal(zone::load(name, loaded), 0);
    return loaded;
}

// --- a file of our own ---

void append(bytes &file, std::uint64_t number, int size) {
    for (int i = size - 1; i >= 0; --i)
        file.push_back(static_cast<unsigned char>(number >> (8 * i)));
}

struct zone_file {
    std::vector<zone_change> changes;
    std::vector<std::int32_t> offsets;
    std::string rule;
    unsigned char version = '2';
    std::uint32_t leap_seconds = 0;

    void append_part(bytes &file, int time_size) const {
        const bytes name = {'T', 'Z', 'i', 'f', version};
        file.insert(file.end(), name.begin(), name.end());
        file.resize(file.size() + 15);
        append(file, 0, 4);
        append(file, 0, 4);
        append(file, leap_seconds, 4);
        append(file, changes.size(), 4);
        append(file, offsets.size(), 4);
        append(file, 4, 4);
        for (const zone_change &each : changes)
            append(file, static_cast<std::uint64_t>(each.at), time_size);
        for (const zone_change &each : changes)
            file.push_back(static_cast<unsigned char>(each.offset));  // as an index
        for (const std::int32_t offset : offsets) {
            append(file, static_cast<std::uint64_t>(offset), 4);
            append(file, 0, 2);
        }
        file.insert(file.end(), {'A', 'B', 'C', 0});
        file.resize(file.size() + leap_seconds * (static_cast<std::size_t>(time_size) + 4));
    }

    [[nodiscard]] bytes written() const {
        bytes file;
        append_part(file, 4);
        if (version == 0)
            return file;
        append_part(file, 8);
        const std::string footer = "\n" + rule + "\n";
        file.insert(file.end(), footer.begin(), footer.end());
        return file;
    }

    [[nodiscard]] int parse(zone &out) const { return zone::parse(written(), out); }
};

// Two changes, of an hour forward and back, and then a rule.
zone_file usual_file() { return {{{1000000, 1}, {2000000, 0}}, {3600, 7200}, "CET-1CEST,M3.5.0,M10.5.0/3"}; }

// --- files ---

int without_tzdir(void **) { return unsetenv("TZDIR"); }
GROUP_FIXTURE(without_tzdir, nullptr);

TEST(zone_a_file_says_what_is_in_force_when) {
    zone parsed;
    assert_int_equal(usual_file().parse(parsed), 0);
    assert_int_equal(parsed.at(-1).offset, 3600);
    assert_int_equal(parsed.at(999999).offset, 3600);
    assert_int_equal(parsed.at(999999).end, 1000000);
    assert_int_equal(parsed.at(1000000).offset, 7200);
    assert_int_equal(parsed.at(1999999).begin, 1000000);
    assert_int_equal(parsed.at(1999999).end, 2000000);
    assert_int_equal(parsed.at(2000000).offset, 3600);
}

TEST(zone_a_file_of_version_1_has_no_rule) {
    zone_file file = usual_file();
    file.version = 0;
    zone parsed;
    assert_int_equal(file.parse(parsed), 0);
    assert_int_equal(parsed.at(1500000).offset, 7200);
    assert_int_equal(parsed.at(date(2150, 7, 1)).offset, 3600);
    assert_int_equal(parsed.at(date(2150, 7, 1)).end, zone::the_end);
}

TEST(zone_a_file_without_changes_is_all_rule) {
    zone parsed;
    zone_file file = usual_file();
    file.changes.clear();
    assert_int_equal(file.parse(parsed), 0);
    assert_int_equal(parsed.at(date(1970, 7, 1)).offset, 7200);
    assert_int_equal(parsed.at(date(2200, 7, 1)).offset, 7200);
    assert_int_equal(parsed.at(date(2200, 12, 31)).offset, 3600);
}

TEST(zone_changes_that_change_nothing_are_no_changes) {
    zone parsed;
    zone_file file = usual_file();
    file.changes = {{1000000, 1}, {1500000, 1}, {2000000, 0}};
    assert_int_equal(file.parse(parsed), 0);
    assert_int_equal(parsed.at(1000000).end, 2000000);
}

// Each case spoils a good file.
TEST(zone_damaged_files_are_refused) {
    const auto assert_refused = [](auto spoil) {
        zone_file file = usual_file();
        spoil(file);
        zone untouched;
        assert_int_equal(file.parse(untouched), -EINVAL);
        assert_int_equal(untouched.at(0).offset, 0);  // left as it was
    };
    assert_refused([](zone_file &broken) { broken.leap_seconds = 1; });
    assert_refused([](zone_file &broken) { broken.version = 1; });
    assert_refused([](zone_file &broken) { broken.offsets.clear(); });
    assert_refused([](zone_file &broken) { broken.offsets.resize(300); });
    assert_refused([](zone_file &broken) { broken.offsets[1] = 26 * 3600; });
    assert_refused([](zone_file &broken) { broken.offsets[1] = INT32_MIN; });
    assert_refused([](zone_file &broken) { broken.changes[1].offset = 2; });
    assert_refused([](zone_file &broken) { broken.changes[1].at = broken.changes[0].at; });
    assert_refused([](zone_file &broken) { broken.changes[0].at = INT64_MIN; });
    assert_refused([](zone_file &broken) { broken.changes[1].at = INT64_MAX; });
    assert_refused([](zone_file &broken) { broken.rule = "no rule"; });

    bytes file = usual_file().written();
    zone parsed;
    file[file.size() - usual_file().rule.size() - 2 - 4 - 1] = 4;  // after the four bytes of abbreviations
    assert_int_equal(zone::parse(file, parsed), -EINVAL);
}

TEST(zone_every_file_that_is_cut_off_is_refused) {
    const bytes file = usual_file().written();
    for (std::size_t size = 0; size < file.size(); ++size) {
        zone parsed;
        const bytes cut(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size));
        assert_int_equal(zone::parse(cut, parsed), -EINVAL);
    }
}

// Asserts the properties that every zone must have, whatever its file says.
void assert_sound(const zone &checked, std::uint64_t *seed) {
    for (int i = 0; i < 20; ++i) {
        const auto utc = static_cast<std::int64_t>(random_below(seed, end_of_2200));
        const zone_span span = checked.at(utc);
        assert_true(span.begin <= utc && utc < span.end);
        assert_true(checked.furthest(utc) >= utc + span.offset);
        assert_true(checked.furthest(utc) >= checked.furthest(utc - 1));
        const std::int64_t local = checked.furthest(utc);
        assert_true(checked.reaches(local) <= utc);
        const std::int64_t reached = checked.reaches(utc);
        assert_true(checked.furthest(reached) >= utc && checked.furthest(reached - 1) < utc);
    }
}

bytes read_file(const std::string &path) {
    bytes file(1 << 16);
    const int descriptor = open(path.c_str(), O_RDONLY);
    assert_true(descriptor >= 0);
    const ssize_t size = read(descriptor, file.data(), file.size());
    close(descriptor);
    assert_true(size > 0);
    file.resize(static_cast<std::size_t>(size));
    return file;
}

// Changes up to eight bytes, or cuts the file.
void spoil(bytes &file, std::uint64_t *seed) {
    const std::uint64_t count = 1 + random_below(seed, 8);
    for (std::uint64_t i = 0; i < count; ++i) {
        unsigned char &at = file[random_below(seed, random_below(seed, 2) == 0 ? file.size() : 120)];
        const std::uint64_t values[] = {0, 0xff, random_next(seed), at ^ 1U << random_below(seed, 8)};
        at = static_cast<unsigned char>(values[random_below(seed, COUNT_OF(values))] & 0xff);
    }
    if (random_below(seed, 8) == 0)
        file.resize(random_below(seed, file.size()) + 1);
}

void assert_spoiled_files_do_no_harm(const bytes &file, std::uint64_t seed) {
    print_message("seed %llu\n", static_cast<unsigned long long>(seed));
    unsigned loaded = 0;
    constexpr unsigned files = 20000;
    for (unsigned i = 0; i < files; ++i) {
        bytes spoiled = file;
        spoil(spoiled, &seed);
        const bytes exact(spoiled.begin(),
                          spoiled.end());  // no spare room, so that reading beyond is noticed
        zone parsed;
        if (zone::parse(exact, parsed) != 0)
            continue;
        ++loaded;
        assert_sound(parsed, &seed);
    }
    assert_true(loaded > 0 && loaded < files);
}

TEST(zone_spoiled_files_do_no_harm) {
    assert_spoiled_files_do_no_harm(usual_file().written(), seed_of_run());
    if (!has_zones())
        return;
    assert_spoiled_files_do_no_harm(read_file("/usr/share/zoneinfo/Europe/Berlin"), seed_of_run());
    assert_spoiled_files_do_no_harm(read_file("/usr/share/zoneinfo/Africa/Casablanca"), seed_of_run());
}

// --- names ---

TEST(zone_hostile_names_are_refused) {
    const auto names =
        texts_in("|/etc/passwd|/usr/share/zoneinfo/UTC|..|../zoneinfo/Europe/Berlin|"
                 "Europe/../Europe/Berlin|.|Europe|Europe/|/|Europe//Berlin|Europe/Berlin/|-Berlin|"
                 "zone.tab|tzdata.zi|Europe/Berlin |Europe\\Berlin|Europe/Berl\xc3\xaen|%s%n|"
                 "Europe/B\nrlin|Nowhere/Land|leapseconds|utc\t");
    for (const std::string &name : names) {
        zone loaded;
        assert_int_equal(zone::load(name.c_str(), loaded), -EINVAL);
    }
    for (const std::size_t length : {64U, 65U, 4096U, 100000U}) {
        zone loaded;
        assert_int_equal(zone::load(std::string(length, 'a').c_str(), loaded), -EINVAL);
    }
}

TEST(zone_utc_needs_no_database) {
    setenv("TZDIR", "/no such folder", 1);
    for (const char *name : {"UTC", "Etc/UTC"}) {
        const zone loaded = load(name);
        assert_int_equal(loaded.at(0).offset, 0);
        assert_int_equal(loaded.at(0).end, zone::the_end);
        assert_int_equal(loaded.furthest(12345), 12345);
        assert_int_equal(loaded.reaches(12345), 12345);
    }
    zone other;
    assert_int_equal(zone::load("Europe/Berlin", other), -EINVAL);
    unsetenv("TZDIR");
}

void write_file(const std::string &path, const bytes &content) {
    const int descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(descriptor >= 0);
    assert_int_equal(write(descriptor, content.data(), content.size()), content.size());
    close(descriptor);
}

TEST(zone_what_is_no_zone_file_is_refused) {
    char folder[] = "/tmp/tickwheel-zones-XXXXXX";
    assert_non_null(mkdtemp(folder));
    const std::string in = std::string(folder) + "/";
    setenv("TZDIR", folder, 1);
    write_file(in + "Good", usual_file().written());
    write_file(in + "Empty", {});
    write_file(in + "Text", {'h', 'e', 'l', 'l', 'o'});
    write_file(in + "Large", bytes(300000, 'x'));
    assert_int_equal(mkdir((in + "Folder").c_str(), 0700), 0);
    assert_int_equal(mkfifo((in + "Pipe").c_str(), 0600), 0);
    assert_int_equal(symlink("/dev/zero", (in + "Endless").c_str()), 0);
    assert_int_equal(symlink("Loop", (in + "Loop").c_str()), 0);
    assert_int_equal(load("Good").at(1500000).offset, 7200);
    for (const char *name :
         {"Empty", "Text", "Large", "Folder", "Pipe", "Endless", "Loop", "Good/Good", "None"}) {
        zone loaded;
        assert_int_equal(zone::load(name, loaded), -EINVAL);
        unlink((in + name).c_str());
    }
    unsetenv("TZDIR");
    unlink((in + "Good").c_str());
    rmdir((in + "Folder").c_str());
    assert_int_equal(rmdir(folder), 0);
}

// In this zone the clock skips the hour from two to three on every first of March.
TEST(zone_where_a_repeating_time_never_comes) {
    char folder[] = "/tmp/tickwheel-zones-XXXXXX";
    assert_non_null(mkdtemp(folder));
    const std::string path = std::string(folder) + "/Gaps";
    setenv("TZDIR", folder, 1);
    write_file(path, zone_file{{}, {0}, "AAA0BBB,J60,J300"}.written());
    calendar dates;
    const char *why = nullptr;
    assert_int_equal(calendar::parse("*/5 2 1 3 *", "Gaps", dates, why), -EINVAL);
    assert_string_equal(why, "the cron expression is never due");
    assert_int_equal(calendar::parse("30 2 1 3 *", "Gaps", dates, why), 0);
    assert_int_equal(dates.next(0), date(1970, 3, 1, 2) * tickwheel::test::second_ns);
    unsetenv("TZDIR");
    unlink(path.c_str());
    assert_int_equal(rmdir(folder), 0);
}

// --- rules ---

TEST(zone_rule_forms) {
    const auto good =
        texts_in("UTC0|<+03>-3|<-02>2<-01>,M3.5.0/-1,M10.5.0/0|EST5EDT,0/0,J365/25|"
                 "IST-1GMT0,M10.5.0,M3.5.0/1|<+0530>-5:30|EET-2EEST,M3.4.4/50,M10.4.4/50|XXX24:59:59|"
                 "AAA+5BBB+4:30:15,59/-167,J60/167:59:59");
    for (const std::string &text : good) {
        zone_rule rule;
        assert_true(zone_rule::parse(text.c_str(), rule));
    }
    const auto bad =
        texts_in("|AB1|UTC|<+03-3|<>3|UTC25|UTC1:60|UTC1:0:60|UTC0 |UTC0,M3.5.0|EST5EDT|EST5EDT,M3.2.0|"
                 "EST5EDT,M3.2.0,M11.1.0,|EST5EDT,M13.2.0,M11.1.0|EST5EDT,M0.2.0,M11.1.0|"
                 "EST5EDT,M3.6.0,M11.1.0|EST5EDT,M3.0.0,M11.1.0|EST5EDT,M3.2.7,M11.1.0|"
                 "EST5EDT,J0,M11.1.0|EST5EDT,J366,M11.1.0|EST5EDT,366,M11.1.0|"
                 "EST5EDT,M3.2.0/168,M11.1.0|EST5EDT,M3.2.0/,M11.1.0|EST5EDT,M3.2.0/99999999999,M11.1.0|"
                 "1EST5|EST5EDT4x,M3.2.0,M11.1.0|EST5EDT,,M11.1.0|EST--5|EST5EDT,M3.2,M11.1.0");
    for (const std::string &text : bad) {
        zone_rule rule;
        assert_false(zone_rule::parse(text.c_str(), rule));
    }
}

TEST(zone_rule_days) {
    zone_rule rule;
    assert_true(zone_rule::parse("AAA0BBB,J60,60", rule));
    assert_int_equal(rule.changes_in(2023)[0].at, date(2023, 3, 1, 2));  // J60 is 1 March in every year
    assert_int_equal(rule.changes_in(2024)[0].at, date(2024, 3, 1, 2));
    assert_int_equal(rule.changes_in(2023)[1].at, date(2023, 3, 2, 1));
    assert_int_equal(rule.changes_in(2024)[1].at, date(2024, 3, 1, 1));
    assert_true(zone_rule::parse("AAA3BBB,M3.5.4,M11.1.0/-24", rule));
    assert_int_equal(rule.changes_in(2024)[0].at, date(2024, 3, 28, 5));
    assert_int_equal(rule.changes_in(2024)[1].at, date(2024, 11, 2, 2));
    assert_int_equal(rule.changes_in(2024)[1].offset, -3 * 3600);
}

TEST(zone_summer_can_last_all_year) {
    zone parsed;
    zone_file file{{}, {-14400}, "EST5EDT,0/0,J365/25"};
    assert_int_equal(file.parse(parsed), 0);
    for (int year = 1970; year < 2200; ++year) {
        assert_int_equal(parsed.at(date(year, 7, 1)).offset, -14400);
        assert_int_equal(parsed.at(date(year, 1, 1, 5)).offset, -14400);
        assert_int_equal(parsed.at(date(year, 1, 1, 3, 59, 59)).offset, -14400);
    }
}

// --- the clock ---

TEST_IF(has_zones(), zone_a_gap_is_passed_at_its_end) {
    const zone berlin = load("Europe/Berlin");
    const std::int64_t set = date(2024, 3, 31, 1);
    assert_int_equal(berlin.at(set).begin, set);
    assert_int_equal(berlin.furthest(set - 1), date(2024, 3, 31, 1, 59, 59));
    assert_int_equal(berlin.furthest(set), date(2024, 3, 31, 3));
    assert_int_equal(berlin.reaches(date(2024, 3, 31, 1, 59, 59)), set - 1);
    assert_int_equal(berlin.reaches(date(2024, 3, 31, 2)), set);
    assert_int_equal(berlin.reaches(date(2024, 3, 31, 2, 59, 59)), set);
    assert_int_equal(berlin.reaches(date(2024, 3, 31, 3)), set);
    assert_int_equal(berlin.reaches(date(2024, 3, 31, 3, 0, 1)), set + 1);
}

TEST_IF(has_zones(), zone_a_time_that_comes_twice_is_reached_once) {
    const zone berlin = load("Europe/Berlin");
    const std::int64_t set = date(2024, 10, 27, 1);
    assert_int_equal(berlin.reaches(date(2024, 10, 27, 2)), set - 3600);
    assert_int_equal(berlin.furthest(set - 1), date(2024, 10, 27, 2, 59, 59));
    assert_int_equal(berlin.furthest(set), date(2024, 10, 27, 2, 59, 59));
    assert_int_equal(berlin.furthest(set + 3599), date(2024, 10, 27, 2, 59, 59));
    assert_int_equal(berlin.furthest(set + 3600), date(2024, 10, 27, 3));
    assert_int_equal(berlin.reaches(date(2024, 10, 27, 3)), set + 3600);
}

// --- compared with the C library ---

// Compares the offsets at one time in each week until 2200, and at the times around each change.
void assert_offsets_are_those_of_the_system(const std::string &name, std::uint64_t *seed) {
    constexpr std::int64_t week = std::int64_t{7} * 86400;
    const zone tested = load(name.c_str());
    const auto check = [&](std::int64_t utc) {
        const std::time_t at = utc;
        tm local{};
        localtime_r(&at, &local);
        if (tested.at(utc).offset != local.tm_gmtoff)
            fail_msg("%s at %lld: %d instead of %ld", name.c_str(), static_cast<long long>(utc),
                     static_cast<int>(tested.at(utc).offset), local.tm_gmtoff);
    };
    setenv("TZ", name.c_str(), 1);
    tzset();
    for (std::int64_t utc = 0; utc < end_of_2200 - week; utc += week)
        check(utc + static_cast<std::int64_t>(random_below(seed, week)));
    for (zone_span span = tested.at(0); span.end < end_of_2200; span = tested.at(span.end))
        for (const int off : {-1, 0, 1})
            check(span.end + off);
    unsetenv("TZ");
}

std::vector<std::string> names_of_zones() {
    std::vector<std::string> names;
    std::ifstream list("/usr/share/zoneinfo/tzdata.zi");
    for (std::string line, kind, first, second; std::getline(list, line);) {
        std::istringstream(line) >> kind >> first >> second;
        if (kind == "Z" || kind == "L")
            names.push_back(kind == "Z" ? first : second);
    }
    return names;
}

// Tests all zones with TW_NIGHTLY=1, and otherwise some. If there is a zic, also tests some zones in files of
// its short form, in which most changes follow from the rule at the end.
TEST_IF(has_zones(), zone_offsets_are_those_of_the_system) {
    std::uint64_t seed = seed_of_run();
    print_message("seed %llu\n", static_cast<unsigned long long>(seed));
    for (const char *const name :
         {"Africa/Casablanca", "Antarctica/Troll", "Australia/Lord_Howe", "Europe/Dublin", "Pacific/Apia"})
        assert_offsets_are_those_of_the_system(name, &seed);
    const std::vector<std::string> names = names_of_zones();
    for (const std::string &name : names)
        if (is_nightly() || random_below(&seed, 30) == 0)
            assert_offsets_are_those_of_the_system(name, &seed);
    char folder[] = "/tmp/tickwheel-zones-XXXXXX";
    assert_non_null(mkdtemp(folder));
    const std::string write =
        std::string("/usr/sbin/zic -b slim -d ") + folder + " /usr/share/zoneinfo/tzdata.zi";
    setenv("TZDIR", folder, 1);
    if (std::system(write.c_str()) == 0)
        for (int i = 0; i < 20; ++i)
            assert_offsets_are_those_of_the_system(names[random_below(&seed, names.size())], &seed);
    unsetenv("TZDIR");
    std::filesystem::remove_all(folder);
}

TEST_IF(has_zones(), zone_files_with_leap_seconds_are_refused) {
    zone loaded;
    assert_int_equal(zone::load("right/Europe/Berlin", loaded), -EINVAL);
}

}  // namespace
