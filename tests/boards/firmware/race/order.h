/* order.h - an interrupt arms a timer earlier than those that wait, while main advances. */
#ifndef ORDER_H
#define ORDER_H

void earlier_timers_are_in_time(void);

#endif
