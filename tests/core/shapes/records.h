/* records.h - records on the wheels of a test, for C: a small stand-in for src/timers, on core/records.hpp.
 * Each function but the first two takes the lock of the wheel. Ticks are those of the wheel. */
#ifndef TICKWHEEL_TESTS_CORE_RECORDS_H
#define TICKWHEEL_TESTS_CORE_RECORDS_H

#include <stdbool.h>
#include <tickwheel/tw.h>

#if TW_RUNTIME
#ifdef __cplusplus
extern "C" {
#endif

/* A record, zero at first except for `fn`. Keep a record for as long as the wheels that it was armed on: they
 * may still have entries that name it. */
struct test_record {
    uint64_t timing[3];                     /* holds a core::timing */
    void (*fn)(struct test_record *record); /* called with no lock held */
    tw_tick period;                         /* 0: one-shot */
    enum tw_missed missed;                  /* the next two as in tw_arm_every */
    uint32_t fires_left;
    tw_tick overruns; /* of the running fire */
};

/* The records of one wheel. This struct must keep its address. */
struct test_records {
    struct tw *w;
    tw_tick offset;     /* no record can be due before this tick; see core::begin_records */
    unsigned abandoned; /* fires that tw_core_abandon has ended */
};

/* Returns how many bytes one or two wheels need for so many records. */
size_t test_records_size(unsigned wheels, size_t records);

/* Lets on[0].w, and with two wheels on[1].w, have records. tw_init was called just before, for both with
 * the same flags; two wheels get one lock. `memory` is zeroed and as aligned as malloc's. */
void test_records_begin(struct test_records on[], unsigned wheels, size_t records, void *memory,
                        tw_tick offset);

/* As tw_core_shift; also raises the offset. */
void test_records_shift(struct test_records *on, tw_tick by);

/* As core::arm_record and so on. REQUIRES: the tick is not before the offset */
void test_record_arm(struct test_records *on, struct test_record *record, tw_tick tick);
void test_record_move(struct test_records *on, struct test_record *record, tw_tick tick);
void test_record_disarm(struct test_records *on, struct test_record *record);

/* Returns a tick in [tick, tick + slack] to arm a record for. */
tw_tick test_record_choose(struct test_records *on, tw_tick tick, tw_tick slack);

bool test_record_is_armed(const struct test_record *record);
/* Returns the tick that an armed record is due at. */
tw_tick test_record_due(const struct test_records *on, const struct test_record *record);

/* As core::is_in_callback and core::forget_interruption. */
bool test_records_is_in_callback(const struct test_records *on);
void test_records_forget_interruption(const struct test_records *on);

#ifdef __cplusplus
}
#endif
#endif

#endif
