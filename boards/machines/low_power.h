/* low_power.h - a low-power timer for machines that QEMU emulates without one: a counter of 16 bits at some
 * 32 kHz with a slow compare register, made of the stopwatch and the alarm (timer.h). */
#ifndef LOW_POWER_H
#define LOW_POWER_H

#include <tickwheel/board/lptimer.h>

#include <stopwatch.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How many stopwatch counts make a count of this timer: a power of 2, which gives 24 to 32 kHz on the
 * machines here. */
#define LOW_POWER_DIVIDER \
    (STOPWATCH_HZ > 64000000u   ? 4096u \
     : STOPWATCH_HZ > 24000000u ? 1024u \
     : STOPWATCH_HZ > 8000000u  ? 512u \
                                : 256u)
#define LOW_POWER_HZ (STOPWATCH_HZ / LOW_POWER_DIVIDER)

extern const struct tw_lptimer low_power_timer;

/* Starts the stopwatch, and so the counter, at 0. The alarm's handler acknowledges its interrupt with
 * alarm_silence() and then calls tw_lptimer_isr(). */
void low_power_start(void);

#ifdef __cplusplus
}
#endif

#endif
