/* Whether there is a tz database: tests of time zones need one. */
#ifndef TW_TEST_ZONES_H
#define TW_TEST_ZONES_H

#include <stdbool.h>
#include <stddef.h>

#include <tickwheel/calendar.h>

static inline bool has_zones(void) {
    struct tw_calendar *calendar = NULL;
    const bool has = tw_calendar_new(&calendar, "@daily", "Europe/Berlin", NULL) == 0;
    tw_calendar_free(calendar);
    return has;
}

#endif
