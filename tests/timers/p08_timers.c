/* P8 for timers that the library keeps: however much one call has to do, it releases the lock in between. The
 * test makes the library believe that a race detector observes it. The library then takes the lock by
 * functions that this test wraps. */
#include "support/counted_walk.h"
#include "timers_test.h"

#include <tickwheel/observe.h>

enum {
    TIMERS = 20000,
    STEPS = 64,   /* in one hold of the lock */
    CELLS = 1024, /* cells that a walk looks at in one hold */
};

static unsigned locks;

int __wrap_tw_port_is_observed(void);
void __real_tw_port_lock_observed(uint32_t *word);
void __wrap_tw_port_lock_observed(uint32_t *word);

int __wrap_tw_port_is_observed(void) { return 1; }
void __wrap_tw_port_lock_observed(uint32_t *word) {
    ++locks;
    __real_tw_port_lock_observed(word);
}

enum { HUGE_PAGE = 2 << 20, CACHE_LINE = 64 };

static size_t most_memory; /* the largest allocation */
static size_t all_memory;  /* the sum of all, alignment included */
static unsigned mappings;

static void note_memory(size_t size, size_t gap) {
    most_memory = size > most_memory ? size : most_memory;
    all_memory += size + gap;
}

int __real_posix_memalign(void **out, size_t alignment, size_t size);
int __wrap_posix_memalign(void **out, size_t alignment, size_t size);
int __wrap_posix_memalign(void **out, size_t alignment, size_t size) {
    note_memory(size, alignment > CACHE_LINE ? alignment : 0);
    return __real_posix_memalign(out, alignment, size);
}

void *__real_mmap64(void *at, size_t size, int protection, int flags, int fd, int64_t offset);
void *__wrap_mmap64(void *at, size_t size, int protection, int flags, int fd, int64_t offset);
void *__wrap_mmap64(void *at, size_t size, int protection, int flags, int fd, int64_t offset) {
    note_memory(size - HUGE_PAGE, HUGE_PAGE); /* the gap is unmapped again */
    ++mappings;
    return __real_mmap64(at, size, protection, flags, fd, offset);
}

int __real_munmap(void *at, size_t size);
int __wrap_munmap(void *at, size_t size);
int __wrap_munmap(void *at, size_t size) {
    all_memory -= size;
    return __real_munmap(at, size);
}

static struct tw_runtime *rt;
static struct tw_timers *set;
static struct probe probes[TIMERS];

static int make(UNUSED void **state) {
    rt = virtual_runtime();
    set = new_set(rt, (struct tw_set_options){0});
    memset(probes, 0, sizeof probes);
    for (unsigned i = 0; i < TIMERS; ++i)
        assert_int_equal(tw_timer_after(set, &probes[i].id, 300 * MS, note_fire, &probes[i]), 0);
    locks = 0;
    return 0;
}

static int end(UNUSED void **state) { return tw_runtime_free(rt); }

static int no_visit(UNUSED const struct tw_entry *entry, UNUSED void *visit_arg) { return 0; }
static int note_handle(const struct tw_entry *timer, void *arg) {
    *(tw_handle *)arg = timer->handle;
    return 0;
}

static unsigned locks_at_first_fire;
static void note_locks(UNUSED struct probe *timer) {
    if (locks_at_first_fire == 0)
        locks_at_first_fire = locks;
}

FIXTURE(make, end);

/* At 290 ms the timers come down a level, and none is due. */
TEST(p8_an_advance_releases_the_lock_while_it_moves_timers) {
    assert_ok(tw_runtime_leap(rt, 290 * MS));
    assert_in_range(locks, TIMERS / STEPS, TIMERS);
    assert_int_equal(probes[0].fires, 0);
}

/* The wheel moves each timer twice before the first one fires. */
TEST(p8_an_advance_releases_the_lock_while_it_sorts_timers) {
    locks_at_first_fire = 0;
    assert_ok(tw_runtime_advance(rt, 280 * MS));
    for (unsigned i = 0; i < TIMERS; ++i) {
        probes[i].inside = note_locks;
        assert_int_equal(tw_timer_move(set, probes[i].id, 30 * MS), 0);
    }
    locks = 0;
    assert_ok(tw_runtime_advance(rt, 30 * MS));
    assert_in_range(locks_at_first_fire, 2 * TIMERS / STEPS, TIMERS);
}

/* A walk and a cancel_all release the lock twice for each timer, for the visit and before the next timer, and
 * once for each cancelled timer. */
TEST(p8_a_walk_and_a_cancel_all_release_the_lock_after_each_timer) {
    for (unsigned i = 0; i < TIMERS / 2; ++i)
        assert_int_equal(tw_timer_cancel(set, probes[i].id), 1);
    locks = 0;
    struct counted_walk walk = {.visitor = no_visit};
    assert_int_equal(counted(tw_timers_each(set, count_and_visit, &walk), &walk), TIMERS / 2);
    assert_true(locks >= 3 * TIMERS / 2);
    locks = 0;
    assert_int_equal(tw_timers_cancel_all(set, NULL, NULL), TIMERS / 2);
    assert_true(locks >= TIMERS);
}

TEST(p8_a_walk_over_all_timers_releases_the_lock_between_cells_that_are_free) {
    enum { LEFT = 8 }; /* some in each lane, because a lane without timers is not walked */
    tw_handle found = TW_NO_HANDLE;
    for (unsigned i = 0; i < TIMERS - LEFT; ++i)
        assert_int_equal(tw_timer_cancel(set, probes[i].id), 1);
    locks = 0;
    assert_int_equal(tw_runtime_each(rt, note_handle, &found), 0);
    assert_true(found != TW_NO_HANDLE);
    assert_in_range(locks, TIMERS / CELLS, TIMERS);
}

static unsigned locks_to_make_a_set_of(unsigned blocks) {
    locks = 0;
    assert_int_equal(tw_timers_free(new_set(rt, (struct tw_set_options){.capacity = blocks * CELLS})), 0);
    return locks;
}

/* The second set takes over the memory of the first one; it gets the first block when it is made. */
TEST(p8_a_set_takes_the_memory_of_another_a_few_blocks_at_a_time) {
    enum { BLOCKS = 200, AT_A_TIME = 64 };
    (void)locks_to_make_a_set_of(BLOCKS);
    const unsigned locks_for_one = locks_to_make_a_set_of(1);
    assert_in_range(locks_to_make_a_set_of(BLOCKS) - locks_for_one, BLOCKS / AT_A_TIME, BLOCKS);
}

static void grow(size_t storage, unsigned timers) {
    struct tw_runtime *one_lane = virtual_runtime_with_one_lane();
    struct tw_timers *growing = new_set(one_lane, (struct tw_set_options){.storage = storage});
    most_memory = all_memory = mappings = 0;
    for (unsigned i = 0; i < timers; ++i) {
        tw_handle id;
        assert_ok(tw_timer_after(growing, &id, TW_SECOND, no_task, NULL));
    }
    tw_runtime_free(one_lane);
}

TEST(p2_a_start_clears_a_bounded_part_of_the_memory_of_a_set_that_grows) {
    enum { RECORD = 256 /* bytes, at most, without storage */, REST = 4096 };
    static const struct {
        size_t storage;
        unsigned timers;
    } sets[] = {{0, 70 * CELLS}, {256, 20 * CELLS}, {4096, 5 * CELLS}};
    for (unsigned i = 0; i < COUNT_OF(sets); ++i) {
        grow(sets[i].storage, sets[i].timers);
        /* and twice as much for entries, which the library does not clear */
        assert_in_range(most_memory, 1, 2 * HUGE_PAGE + CELLS * (sets[i].storage + RECORD) + REST);
    }
}

TEST(huge_pages_leave_no_gaps) {
    enum { RECORDS = 70 * CELLS, BYTES = 64 + 72 /* with the entries of a record */ };
    grow(0, RECORDS);
    assert_in_range(mappings, RECORDS * 64 / HUGE_PAGE - 1, RECORDS * 64 / HUGE_PAGE);
    assert_in_range(all_memory, RECORDS * 64, RECORDS * BYTES + HUGE_PAGE);
}
