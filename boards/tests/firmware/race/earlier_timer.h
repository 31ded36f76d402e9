/* earlier_timer.h - an interrupt arms a timer earlier than the pending ones, while main advances. */
#ifndef EARLIER_TIMER_H
#define EARLIER_TIMER_H

void earlier_timers_are_in_time(void);

#endif
