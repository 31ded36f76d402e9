// Making calendars while the system refuses memory or files: the call fails and changes nothing.
#include <sys/resource.h>

#include <string_view>

#include <tickwheel/calendar.h>

#include "support/dates.hpp"
#include "support/refused_memory.hpp"

namespace {

using namespace refused_memory;

int make(tw_calendar *&made, const char *zone, const char *&why) {
    return tw_calendar_new(&made, "30 9 * * mon-fri", zone, &why);
}

// If the memory for std::stable_sort is refused, it sorts without, so the call may also succeed.
void assert_made_or_not(const char *zone) {
    tw_calendar *made = nullptr;
    const char *why = nullptr;
    const int refused = refuse_each([&] { return make(made, zone, why); },
                                    [&](int result) {
                                        assert_int_equal(made != nullptr, result == 0);
                                        assert_true(result == 0 || std::string_view(why) == "no memory");
                                        tw_calendar_free(made);
                                        made = nullptr;
                                    });
    assert_in_range(refused, 2, 100);
    tw_calendar_free(made);
}

TEST(a_calendar_is_made_or_not) { assert_made_or_not("UTC"); }
TEST_IF(has_zones(), a_calendar_in_a_zone_is_made_or_not) { assert_made_or_not("Europe/Berlin"); }

TEST(a_process_without_descriptors_cannot_read_a_zone) {
    rlimit usual{};
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &usual), 0);
    const rlimit none{0, usual.rlim_max};
    tw_calendar *made = nullptr;
    const char *why = nullptr;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    const int error = make(made, "Europe/Berlin", why);
    const int error_of_utc = make(made, "UTC", why);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &usual), 0);
    assert_int_equal(error, -EMFILE);
    assert_string_equal(why, "the time zone cannot be read");
    assert_int_equal(error_of_utc, 0);
    tw_calendar_free(made);
}

}  // namespace
