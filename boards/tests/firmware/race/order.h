/* order.h - an interrupt arms a timer earlier than the pending ones, while main advances. */
#ifndef ORDER_H
#define ORDER_H

void earlier_timers_are_in_time(void);

#endif
