// Tests cron.hpp and calendar.hpp of calendar/src: which expressions are valid, and when they are due, also
// when the local clock is set.
#include "calendar/src/cron.hpp"

#include <array>
#include <string>
#include <vector>

#include <tickwheel/driver.h>

#include "calendar/src/calendar.hpp"
#include "support/dates.hpp"
#include "support/environment.h"
#include "support/random.h"
#include "support/test.h"

namespace {

using tickwheel::calendar::calendar;
using tickwheel::calendar::cron;
using tickwheel::calendar::zone;
using tickwheel::test::date;
using tickwheel::test::second_ns;
using tickwheel::test::texts_in;

calendar parse(const char *expression, const char *zone_name = nullptr) {
    calendar dates;
    const char *why = nullptr;
    if (calendar::parse(expression, zone_name, dates, why) != 0)
        fail_msg("%s in %s: %s", expression, zone_name != nullptr ? zone_name : "UTC", why);
    return dates;
}

// The due times that follow a time, in seconds.
std::int64_t next(const calendar &dates, std::int64_t after) {
    return dates.next(after * second_ns) / second_ns;
}

void assert_due(const char *expression, const char *zone_name, std::int64_t after,
                const std::vector<std::int64_t> &expected) {
    const calendar dates = parse(expression, zone_name);
    for (const std::int64_t due : expected) {
        after = next(dates, after);
        if (after != due)
            fail_msg("%s in %s: %lld instead of %lld", expression, zone_name != nullptr ? zone_name : "UTC",
                     static_cast<long long>(after), static_cast<long long>(due));
    }
}

// --- expressions ---

int without_tzdir(void **) { return unsetenv("TZDIR"); }
GROUP_FIXTURE(without_tzdir, nullptr);

TEST(cron_fields) {
    const std::int64_t now = date(2024, 2, 14, 10, 20, 30);  // a Wednesday
    const struct {
        const char *expression;
        std::int64_t due;
    } cases[] = {
        {"* * * * *", date(2024, 2, 14, 10, 21)},
        {"* * * * * *", date(2024, 2, 14, 10, 20, 31)},
        {"? ? ? ? ? ?", date(2024, 2, 14, 10, 20, 31)},
        {"30 20 10 * * *", date(2024, 2, 15, 10, 20, 30)},
        {"20 10 * * *", date(2024, 2, 15, 10, 20)},
        {"*/7 * * * *", date(2024, 2, 14, 10, 21)},
        {"5/10 * * * *", date(2024, 2, 14, 10, 25)},
        {"1-30/2 * * * *", date(2024, 2, 14, 10, 21)},
        {"10-19,22-40/5 * * * *", date(2024, 2, 14, 10, 22)},
        {"59 9,8 * * *", date(2024, 2, 15, 8, 59)},
        {"05 09 * * *", date(2024, 2, 15, 9, 5)},
        {"0 0 29 2 *", date(2024, 2, 29)},
        {"0 0 30 * *", date(2024, 3, 30)},
        {"0 0 31 2-5 *", date(2024, 3, 31)},
        {"0 0 L * *", date(2024, 2, 29)},
        {"0 0 l,15 * *", date(2024, 2, 15)},
        {"0 0 L 4 ?", date(2024, 4, 30)},
        {"0 0 * jan *", date(2025, 1, 1)},
        {"0 0 * JAN-Mar *", date(2024, 2, 15)},
        {"0 0 * * sun", date(2024, 2, 18)},
        {"0 0 * * 0", date(2024, 2, 18)},
        {"0 0 * * 7", date(2024, 2, 18)},
        {"0 0 * * fri-sun", date(2024, 2, 16)},
        {"0 0 * * 5-7", date(2024, 2, 16)},
        {"0 0 * * MON", date(2024, 2, 19)},
        {"0 0 * * 1-7/2", date(2024, 2, 16)},
        {"0 0 * * */4", date(2024, 2, 15)},
        {"\t0 0\t \t* * *  ", date(2024, 2, 15)},
        {"@hourly", date(2024, 2, 14, 11)},
        {"@daily", date(2024, 2, 15)},
        {"@midnight", date(2024, 2, 15)},
        {"@weekly", date(2024, 2, 18)},
        {"@monthly", date(2024, 3, 1)},
        {"@yearly", date(2025, 1, 1)},
        {" @ANNUALLY ", date(2025, 1, 1)},
    };
    for (const auto &each : cases)
        assert_due(each.expression, nullptr, now, {each.due});
}

TEST(cron_either_of_two_restricted_days) {
    const std::int64_t now = date(2024, 2, 14);
    assert_due("0 0 13 * fri", nullptr, now, {date(2024, 2, 16), date(2024, 2, 23), date(2024, 3, 1)});
    assert_due("0 0 20 * fri", nullptr, now, {date(2024, 2, 16), date(2024, 2, 20), date(2024, 2, 23)});
    assert_due("0 0 L * fri", nullptr, date(2024, 2, 24), {date(2024, 2, 29), date(2024, 3, 1)});
    assert_due("0 0 30 2 mon", nullptr, now, {date(2024, 2, 19), date(2024, 2, 26), date(2025, 2, 3)});
    // A field with a `*` does not restrict the days: then both fields must select the day.
    assert_due("0 0 */12 * fri", nullptr, now, {date(2024, 3, 1), date(2024, 9, 13), date(2024, 10, 25)});
}

TEST(cron_malformed_expressions_are_refused) {
    const auto expressions =
        texts_in("| |*|* * * *|* * * * * * *|@|@reboot|@every 5m|@daily @daily|@daily *|60 * * * *|"
                 "* 24 * * *|* * 0 * *|* * 32 * *|* * * 0 *|* * * 13 *|* * * * 8|60 * * * * *|-1 * * * *|"
                 "1- * * * *|-5 * * * *|5-1 * * * *|1-2-3 * * * *|*-5 * * * *|5-* * * * *|*/0 * * * *|"
                 "*/61 * * * *|* */25 * * *|*/ * * * *|/5 * * * *|*/5/5 * * * *|5/-1 * * * *|, * * * *|"
                 "1, * * * *|,1 * * * *|1,,2 * * * *|+1 * * * *|1.5 * * * *|0x1 * * * *|100 * * * *|"
                 "001 * * * *|L * * * *|* L * * *|* * L-3 * *|* * LW * *|* * 5L * *|* * 1-L * *|"
                 "* * L/2 * *|* * 15W * *|* * * L *|* * * * L|* * * * 5#3|* * * * 5L|jan * * * *|"
                 "* * * mon *|* * * * jan|* * * janu *|* * * ja *|* * * * monday|* * * * sun-|"
                 "* * * * sat-fri|** * * * *|*5 * * * *|5* * * * *|*,? * * * * * *|\n* * * * *|"
                 "* * * * *\n|* * * * *;|* * * * \xff|\xc2\xa0* * * * *|99999999999999999999 * * * *|"
                 "*/99999999999 * * * *|%d %s * * *");
    for (const std::string &expression : expressions) {
        cron parsed;
        const char *why = nullptr;
        if (cron::parse(expression.c_str(), parsed, why) != -EINVAL)
            fail_msg("taken: %s", expression.c_str());
        assert_non_null(why);
    }
}

TEST(cron_expressions_that_never_come_true_are_refused) {
    for (const char *expression :
         {"0 0 30 2 *", "0 0 31 2,4,6,9,11 *", "0 0 30,31 feb ?", "* * * 31 11 *", "0 0 30 2 */3"}) {
        cron parsed;
        const char *why = nullptr;
        assert_int_equal(cron::parse(expression, parsed, why), -EINVAL);
        assert_string_equal(why, "the cron expression is never due");
    }
}

TEST(cron_length_is_limited) {
    cron parsed;
    const char *why = nullptr;
    std::string expression = "* * * * *";
    expression.append(cron::length_max - expression.size(), ' ');
    assert_int_equal(cron::parse(expression.c_str(), parsed, why), 0);
    assert_int_equal(cron::parse((expression + " ").c_str(), parsed, why), -EINVAL);
    assert_string_equal(why, "the cron expression is too long");
    assert_int_equal(cron::parse(std::string(1 << 20, '*').c_str(), parsed, why), -EINVAL);
}

// The parser accepts or refuses any bytes, and does nothing else.
TEST(cron_odd_bytes_do_no_harm) {
    constexpr char usual[] = "0123456789*/,-?L@ \tjanmondaily\xff\x01";
    std::uint64_t seed = seed_of_run();
    for (int i = 0; i < 100000; ++i) {
        std::string text;
        for (std::uint64_t length = random_below(&seed, 40); length > 0; --length)
            text += random_below(&seed, 3) == 0 ? ' ' : usual[random_below(&seed, sizeof usual - 1)];
        cron parsed;
        const char *why = nullptr;
        const int result = cron::parse(text.c_str(), parsed, why);
        assert_true(result == 0 || (result == -EINVAL && why != nullptr));
    }
}

TEST(cron_an_unknown_zone_is_refused) {
    calendar dates;
    const char *why = nullptr;
    assert_int_equal(calendar::parse("* * * * *", "Europe/Nowhere", dates, why), -EINVAL);
    assert_string_equal(why, "there is no such time zone");
    assert_int_equal(calendar::parse("* * * * *", "../../etc/passwd", dates, why), -EINVAL);
}

// --- due times ---

TEST(cron_the_next_time_is_later_than_the_last) {
    const calendar dates = parse("* * * * * *");
    assert_int_equal(dates.next(-second_ns), 0);
    assert_int_equal(dates.next(INT64_MIN), 0);
    assert_int_equal(dates.next(-1), 0);
    assert_int_equal(dates.next(0), second_ns);
    assert_int_equal(dates.next(1), second_ns);
    assert_int_equal(dates.next(second_ns - 1), second_ns);
    assert_int_equal(dates.next(second_ns), 2 * second_ns);
}

TEST(cron_times_end_with_the_year_2200) {
    const std::int64_t last = calendar::last_ns;
    const calendar every_second = parse("* * * * * *");
    assert_int_equal(every_second.next(last - 1), last);
    assert_int_equal(every_second.next(last), TW_NO_DEADLINE);
    assert_int_equal(every_second.next(last + 1), TW_NO_DEADLINE);
    assert_int_equal(every_second.next(INT64_MAX), TW_NO_DEADLINE);
    const calendar new_year = parse("@yearly");
    assert_int_equal(new_year.next(date(2199, 6, 1) * second_ns), date(2200, 1, 1) * second_ns);
    assert_int_equal(new_year.next(date(2200, 1, 1) * second_ns), TW_NO_DEADLINE);
    const calendar leap_day = parse("0 0 29 2 *");
    assert_int_equal(leap_day.next(date(2196, 3, 1) * second_ns), TW_NO_DEADLINE);
}

// Each call takes microseconds, however distant the due time is. A walk by seconds or days would take
// minutes.
TEST(cron_far_times_are_found_at_once) {
    const calendar dates = parse("0 0 */28 2 mon");  // 1 and 29 February, if they are Mondays
    for (int i = 0; i < 10000; ++i)
        assert_int_equal(next(dates, date(2024, 2, 2)), date(2027, 2, 1));
    const calendar leap_day = parse("0 0 29/28 2 */6,1");  // on a Saturday, Sunday or Monday
    for (int i = 0; i < 10000; ++i)
        assert_int_equal(next(leap_day, date(2024, 3, 1)), date(2032, 2, 29));
    const calendar everywhere = parse("* * 29/2 2 *");
    for (int i = 0; i < 10000; ++i)
        assert_int_equal(next(everywhere, date(2096, 3, 1)), date(2104, 2, 29));
}

TEST_IF(has_zones(), cron_times_are_local) {
    assert_due("0 9 * * *", "Europe/Berlin", date(2024, 1, 10), {date(2024, 1, 10, 8)});
    assert_due("0 9 * * *", "Europe/Berlin", date(2024, 7, 10), {date(2024, 7, 10, 7)});
    assert_due("0 9 * * *", "Asia/Kathmandu", date(2024, 7, 10), {date(2024, 7, 10, 3, 15)});
    assert_due("0 22 31 12 *", "America/New_York", date(1970, 1, 1),
               {date(1970, 1, 1, 3), date(1971, 1, 1, 3)});
    assert_due("*/30 * 31 12 *", "America/New_York", -1, {0, 1800, 3600});
    assert_due("0 0 1 jan *", "Pacific/Kiritimati", date(2150, 3, 1), {date(2150, 12, 31, 10)});
    assert_due("0 9 * jul *", "Europe/Berlin", date(2199, 10, 1), {date(2200, 7, 1, 7)});
}

// --- when the clock is set ---

TEST_IF(has_zones(), cron_a_fixed_time_in_a_gap_comes_at_its_end) {
    const std::int64_t set = date(2024, 3, 31, 1);
    assert_due("30 2 * * *", "Europe/Berlin", set - 86400,
               {date(2024, 3, 30, 1, 30), set, date(2024, 4, 1, 0, 30)});
    assert_due("10,50 2 * * *", "Europe/Berlin", set - 3600, {set, date(2024, 4, 1, 0, 10)});
    // If the end of the gap is itself a selected time, there is still only one due time.
    assert_due("0,30 2,3 * * *", "Europe/Berlin", set - 3600, {set, set + 1800, date(2024, 4, 1, 0)});
    assert_due("30 2 31 3 *", "Europe/Berlin", set - 86400, {set, date(2025, 3, 31, 0, 30)});
}

TEST_IF(has_zones(), cron_a_fixed_time_that_comes_twice_counts_once) {
    const std::int64_t set = date(2024, 10, 27, 1);
    assert_due("30 2 * * *", "Europe/Berlin", set - 90000,
               {date(2024, 10, 26, 0, 30), set - 1800, date(2024, 10, 28, 1, 30)});
    assert_due("0 3 * * *", "Europe/Berlin", set - 90000,
               {date(2024, 10, 26, 1), set + 3600, date(2024, 10, 28, 2)});
    assert_due("0 1,2,3 * * *", "Europe/Berlin", set - 9000, {set - 7200, set - 3600, set + 3600});
}

TEST_IF(has_zones(), cron_nothing_comes_again_to_who_asks_in_the_repeated_hour) {
    const std::int64_t set = date(2024, 10, 27, 1);
    for (const std::int64_t now : {set, set + 600, set + 1800, set + 3599})
        assert_due("30 2 * * *", "Europe/Berlin", now, {date(2024, 10, 28, 1, 30)});
    const calendar dates = parse("30 2 * * *", "Europe/Berlin");
    assert_int_equal(dates.count((set + 600) * second_ns, (set + 7200) * second_ns), 0);
    assert_int_equal(dates.last((set + 600) * second_ns, (set + 7200) * second_ns), (set + 600) * second_ns);
    assert_due("0 3 * * *", "Europe/Berlin", set + 600, {set + 3600});
}

TEST_IF(has_zones(), cron_a_repeating_time_goes_on) {
    const std::int64_t spring = date(2024, 3, 31, 1);
    const std::int64_t autumn = date(2024, 10, 27, 1);
    for (const std::int64_t set : {spring, autumn}) {
        assert_due("*/20 * * * *", "Europe/Berlin", set - 3600,
                   {set - 2400, set - 1200, set, set + 1200, set + 2400, set + 3600, set + 4800});
        assert_due("7 * * * *", "Europe/Berlin", set - 3600, {set - 3180, set + 420, set + 4020, set + 7620});
        assert_due("7 0-23 * * *", "Europe/Berlin", set - 3600,
                   {set - 3180, set + 420, set + 4020, set + 7620});
        assert_due("*/30 * * * * *", "Europe/Berlin", set - 31, {set - 30, set, set + 30});
    }
    assert_due("0/30 2 * * *", "Europe/Berlin", spring - 7200, {date(2024, 4, 1, 0)});
    assert_due("*/30 2 * * *", "Europe/Berlin", autumn - 7200,
               {autumn - 3600, autumn - 1800, autumn, autumn + 1800, date(2024, 10, 28, 1)});
}

// --- compared with a walk through all seconds ---

// The text of a field, and the values that it selects.
struct made_field {
    std::string text;
    std::array<bool, 64> values{};
    bool has_star = false;
    bool is_open = false;
};

void select(made_field &field, std::uint64_t first, std::uint64_t last, std::uint64_t step) {
    for (std::uint64_t value = first; value <= last; value += step)
        field.values[value] = true;
}

void append_item(made_field &field, std::uint64_t *seed, std::uint64_t first, std::uint64_t last) {
    const std::uint64_t low = first + random_below(seed, last - first + 1);
    const std::uint64_t high = low + random_below(seed, last - low + 1);
    const std::uint64_t step = 1 + random_below(seed, last - first + 1);
    const std::string range = std::to_string(low) + "-" + std::to_string(high);
    const std::string by_step = "/" + std::to_string(step);
    switch (random_below(seed, 6)) {
    case 0:
        field.text += "*" + by_step, select(field, first, last, step), field.has_star = field.is_open = true;
        break;
    case 1:
        field.text += std::to_string(low) + by_step, select(field, low, last, step), field.is_open = true;
        break;
    case 2:
        field.text += range, select(field, low, high, 1);
        break;
    case 3:
        field.text += range + by_step, select(field, low, high, step);
        break;
    default:
        field.text += std::to_string(low), select(field, low, low, 1);
        break;
    }
}

made_field make_field(std::uint64_t *seed, std::uint64_t first, std::uint64_t last, std::uint64_t stars) {
    made_field field;
    if (random_below(seed, 4) < stars) {
        field.text = "*";
        field.has_star = field.is_open = true;
        select(field, first, last, 1);
        return field;
    }
    for (std::uint64_t more = random_below(seed, 3) + 1; more > 0; --more) {
        append_item(field, seed, first, last);
        field.text += more > 1 ? "," : "";
    }
    bool has_all = true;
    for (std::uint64_t value = first; value <= last; ++value)
        has_all = has_all && field.values[value];
    field.is_open = field.is_open || has_all;
    return field;
}

struct made_expression {
    made_field second, minute, hour, day, month, weekday;

    explicit made_expression(std::uint64_t *seed)
        : second(make_field(seed, 0, 59, 0)), minute(make_field(seed, 0, 59, random_below(seed, 2))),
          hour(make_field(seed, 0, 23, random_below(seed, 2))), day(make_field(seed, 1, 31, 3)),
          month(make_field(seed, 1, 12, 4)), weekday(make_field(seed, 0, 6, 3)) {
        if (random_below(seed, 4) != 0) {
            second = {};
            second.text = "0";
            second.values[0] = true;
        }
    }

    [[nodiscard]] std::string text() const {
        return second.text + ' ' + minute.text + ' ' + hour.text + ' ' + day.text + ' ' + month.text + ' ' +
               weekday.text;
    }
    [[nodiscard]] bool is_repeating() const { return second.is_open || minute.is_open || hour.is_open; }

    [[nodiscard]] bool selects_day(std::int64_t local) const {
        using namespace std::chrono;
        const sys_days days = floor<std::chrono::days>(sys_seconds(seconds(local)));
        const year_month_day local_date = days;
        const bool by_date = day.values[static_cast<unsigned>(local_date.day())];
        const bool by_weekday = weekday.values[std::chrono::weekday(days).c_encoding()];
        const bool either = !day.has_star && !weekday.has_star;
        return month.values[static_cast<unsigned>(local_date.month())] &&
               (either ? by_date || by_weekday : by_date && by_weekday);
    }

    [[nodiscard]] bool selects(std::int64_t local) const {
        const auto of_day = static_cast<std::size_t>(local % 86400);
        return second.values[of_day % 60] && minute.values[of_day / 60 % 60] && hour.values[of_day / 3600] &&
               selects_day(local);
    }
};

// The due times according to the comment at the top of calendar.hpp.
std::vector<std::int64_t> walk(const made_expression &expression, const zone &in, std::int64_t begin,
                               std::int64_t end) {
    std::vector<std::int64_t> due;
    std::int64_t furthest = 0;
    for (std::int64_t utc = begin - 3 * 86400; utc <= end; ++utc) {
        const std::int64_t local = utc + in.at(utc).offset;
        bool is_due = expression.is_repeating() && expression.selects(local);
        for (; furthest != 0 && !expression.is_repeating() && furthest < local; ++furthest)
            is_due = is_due || expression.selects(furthest + 1);
        furthest = std::max(furthest, local);
        if (is_due && utc > begin)
            due.push_back(utc);
    }
    return due;
}

void assert_as_walked(const made_expression &expression, const char *zone_name, std::int64_t begin,
                      std::int64_t end, std::uint64_t *seed) {
    zone in;
    calendar dates;
    const char *why = "";
    assert_int_equal(zone::load(zone_name, in), 0);
    const std::string text = expression.text();
    if (calendar::parse(text.c_str(), zone_name, dates, why) != 0) {
        assert_string_equal(why, "the cron expression is never due");
        return;
    }
    std::int64_t after = begin;
    std::uint64_t count = 0;
    for (const std::int64_t due : walk(expression, in, begin, end)) {
        if (next(dates, after) != due)
            fail_msg("%s in %s after %lld: %lld instead of %lld", text.c_str(), zone_name,
                     static_cast<long long>(after), static_cast<long long>(next(dates, after)),
                     static_cast<long long>(due));
        const auto between =
            static_cast<std::int64_t>(random_below(seed, static_cast<std::uint64_t>(due - after)));
        assert_int_equal(next(dates, after + between), due);
        after = due;
        ++count;
        if (count < 100) {
            assert_int_equal(dates.count(begin * second_ns, due * second_ns), count);
            assert_int_equal(dates.count(begin * second_ns, due * second_ns - 1), count - 1);
            assert_int_equal(dates.last(begin * second_ns, due * second_ns + 5), due * second_ns);
        }
    }
    for (std::int64_t step = 0; after + step < end; step += 600)
        assert_true(next(dates, after + step) > end);
    assert_int_equal(dates.count(begin * second_ns, end * second_ns), count);
    assert_int_equal(dates.last(begin * second_ns, end * second_ns), after * second_ns);
}

TEST_IF(has_zones(), cron_due_times_are_those_of_a_walk_through_all_seconds) {
    const struct {
        const char *zone;
        std::int64_t set;
    } cases[] = {
        {"UTC", date(2024, 2, 29)},
        {"Europe/Berlin", date(2024, 3, 31, 1)},
        {"Europe/Berlin", date(2024, 10, 27, 1)},
        {"America/New_York", date(2150, 3, 8, 7)},
        {"Australia/Lord_Howe", date(2024, 10, 5, 15, 30)},
        {"Australia/Lord_Howe", date(2024, 4, 6, 15)},
        {"America/Sao_Paulo", date(2018, 11, 4, 3)},
        {"America/Sao_Paulo", date(2018, 2, 18, 2)},
        {"Pacific/Apia", date(2011, 12, 30, 10)},
        {"Antarctica/Troll", date(2024, 10, 27, 1)},
        {"Africa/Monrovia", date(1972, 1, 7, 0, 44, 30)},
        {"Asia/Pyongyang", date(2018, 5, 4, 15)},
        {"America/Caracas", date(2016, 5, 1, 7)},
    };
    std::uint64_t seed = seed_of_run();
    for (int round = 0; round < 10; ++round) {
        for (const auto &each : cases) {
            const auto before = static_cast<std::int64_t>(random_below(&seed, 86400));
            assert_as_walked(made_expression(&seed), each.zone, each.set - before, each.set + 86400, &seed);
        }
    }
}

// --- counting ---

TEST(cron_a_year_of_seconds_is_counted_at_once) {
    const calendar dates = parse("* * * * * *");
    const std::int64_t begin = date(1970, 1, 1) * second_ns;
    const std::int64_t end = date(2200, 1, 1) * second_ns;
    for (int i = 0; i < 1000; ++i) {
        assert_int_equal(dates.count(begin, end), (end - begin) / second_ns);
        assert_int_equal(dates.last(begin, end + 5), end);
    }
    assert_int_equal(dates.count(end, end), 0);
    assert_int_equal(dates.last(end, end), end);
}

TEST_IF(has_zones(), cron_every_day_is_counted_whatever_the_clock_does) {
    const calendar dates = parse("30 2 * * *", "Europe/Berlin");
    const std::int64_t begin = date(2000, 1, 1, 12);
    assert_int_equal(dates.count(begin * second_ns, (begin + 150 * 365 * std::int64_t{86400}) * second_ns),
                     150 * 365);
}

}  // namespace
