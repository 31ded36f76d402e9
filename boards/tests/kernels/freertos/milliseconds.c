/* Milliseconds in ticks of FreeRTOS, at rates that do not divide them. */
#include "adapter.h"
#include "support/test.h"

#undef configTICK_RATE_HZ
#define configTICK_RATE_HZ rate

static void assert_rounded_up(uint32_t rate, uint32_t ms) {
    const uint64_t ticks = TW_FREERTOS_MS(ms);
    assert_true(ticks * 1000 >= (uint64_t)ms * rate);
    assert_true(ticks == 0 || (ticks - 1) * 1000 < (uint64_t)ms * rate);
}

TEST(p01_milliseconds_are_rounded_up_to_ticks) {
    const uint32_t rates[] = {1, 60, 100, 128, 1000, 1024, 10000};
    const uint32_t some_ms[] = {0, 1, 9, 10, 11, 15, 999, 1000, 1001, 86400000};
    for (size_t i = 0; i < COUNT_OF(rates); ++i)
        for (size_t k = 0; k < COUNT_OF(some_ms); ++k)
            assert_rounded_up(rates[i], some_ms[k]);
}
