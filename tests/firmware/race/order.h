#ifndef ORDER_H
#define ORDER_H

/* An interrupt arms a timer earlier than those that wait, while main advances. */
void earlier_timers_are_in_time(void);

#endif
