/* Keyed timers when the system refuses each allocation in turn, or the random bytes for the
 * hash: nothing changes, nothing is lost, and the next attempt works. */
#include "keyed_test.h"

#include <sys/mman.h>
#include <sys/types.h>

/* --- wrappers of the system calls (-Wl,--wrap) ----------------------------------------------- */

static int spared = INT32_MAX; /* calls that work before one fails; later ones work again */
static bool has_failed;
static int random_error;
static long live;   /* allocations not freed yet */
static long mapped; /* bytes not unmapped yet */

static bool fails(void) {
    const bool now = spared-- == 0;
    has_failed |= now;
    return now;
}

static void *counted(void *memory) {
    live += memory != NULL;
    return memory;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
int __real_posix_memalign(void **out, size_t alignment, size_t size);
void __real_free(void *memory);
void *__real_mmap64(void *at, size_t size, int protection, int flags, int fd, int64_t offset);
int __real_munmap(void *at, size_t size);
ssize_t __real_getrandom(void *buffer, size_t size, unsigned flags);

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
int __wrap_posix_memalign(void **out, size_t alignment, size_t size);
void __wrap_free(void *memory);
void *__wrap_mmap64(void *at, size_t size, int protection, int flags, int fd, int64_t offset);
int __wrap_munmap(void *at, size_t size);
ssize_t __wrap_getrandom(void *buffer, size_t size, unsigned flags);

void *__wrap_malloc(size_t size) { return fails() ? NULL : counted(__real_malloc(size)); }
void *__wrap_calloc(size_t count, size_t size) {
    return fails() ? NULL : counted(__real_calloc(count, size));
}
int __wrap_posix_memalign(void **out, size_t alignment, size_t size) {
    const int error = fails() ? ENOMEM : __real_posix_memalign(out, alignment, size);
    live += error == 0;
    return error;
}
void __wrap_free(void *memory) {
    live -= memory != NULL;
    __real_free(memory);
}
void *__wrap_mmap64(void *at, size_t size, int protection, int flags, int fd, int64_t offset) {
    if (fails()) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    mapped += (long)size;
    return __real_mmap64(at, size, protection, flags, fd, offset);
}
int __wrap_munmap(void *at, size_t size) {
    mapped -= (long)size;
    return __real_munmap(at, size);
}
ssize_t __wrap_getrandom(void *buffer, size_t size, unsigned flags) {
    if (random_error == 0)
        return __real_getrandom(buffer, size, flags);
    errno = random_error;
    return -1;
}

/* Makes the call after the next `first` ones fail. */
static void fail_after(int first) {
    spared = first;
    has_failed = false;
}

/* Returns true if one has failed. Later calls work. */
static bool one_failed(void) {
    spared = INT32_MAX;
    return has_failed;
}

/* --- a new table ----------------------------------------------------------------------------- */

static struct tw_keyed *const untouched = (struct tw_keyed *)(uintptr_t)16;

/* The directory of all cells stays with the process once there is one. */
static int make_directory(UNUSED void **state) {
    end_bench(new_bench((struct tw_keyed_options){.capacity = 1}));
    return 0;
}

/* Makes a table on a new runtime while one call fails. Returns false if no call has failed. What the table
 * has allocated for its timers stays with the runtime and is freed with that. */
static bool one_call_fails(int first, const struct tw_keyed_options *options) {
    const long before = live;
    struct tw_runtime *rt = new_runtime((struct tw_runtime_options){.driver = "manual"});
    struct tw_keyed *keyed = untouched;
    fail_after(first);
    const int result = tw_keyed_new(&keyed, rt, options);
    const bool failed = one_failed();
    assert_int_equal(result, failed ? -ENOMEM : 0);
    assert_true((keyed == untouched) == failed);
    if (failed)
        assert_int_equal(mapped, 0);
    tw_runtime_free(rt);
    assert_int_equal(live, before);
    assert_int_equal(mapped, 0);
    return failed;
}

GROUP_FIXTURE(make_directory, NULL);

TEST(a_new_table_fails_with_each_of_its_allocations) {
    const struct tw_keyed_options kinds[] = {{.capacity = 0}, {.capacity = 1}, {.capacity = 1000}};
    const int fewest[] = {3, 7, 7}; /* the table, the keeper, the store; their cells and entries */
    for (unsigned i = 0; i < COUNT_OF(kinds); ++i) {
        int failures = 0;
        while (one_call_fails(failures, &kinds[i]))
            ++failures;
        assert_in_range(failures, fewest[i], 100);
    }
}

TEST(a_new_table_fails_without_random_bytes) {
    const long before = live;
    struct tw_runtime *rt = new_runtime((struct tw_runtime_options){.driver = "manual"});
    struct tw_keyed *keyed = untouched;
    random_error = ENOSYS;
    assert_int_equal(tw_keyed_new(&keyed, rt, NULL), -ENOSYS);
    random_error = 0;
    assert_ptr_equal(keyed, untouched);
    assert_int_equal(mapped, 0);
    assert_int_equal(tw_keyed_new(&keyed, rt, NULL), 0);
    tw_runtime_free(rt);
    assert_int_equal(live, before);
}

/* --- setting ------------------------------------------------------------------------------------ */

enum { KEYS = 1000 };

/* Numbers, short strings, and strings long enough to be allocated. */
static struct tw_key key_of(unsigned i, char text[40]) {
    if (i % 3 == 0)
        return tw_key_number(i);
    const char *form = i % 3 == 1 ? "%u" : "a string of more than 16 bytes, %u";
    return tw_key_bytes(text, (size_t)snprintf(text, 40, form, i));
}

/* Fails each allocation that setting the key makes, in turn, until all succeed. */
static int fail_each_of_set(struct bench bench, struct tw_key key, struct probe *probe, int expected) {
    for (int failures = 0;; ++failures) {
        const long before = live;
        const size_t count = tw_keyed_count(bench.keyed);
        fail_after(failures);
        const int result = set_in_ms(bench.keyed, key, 5, probe);
        if (!one_failed()) {
            assert_int_equal(result, expected);
            return failures;
        }
        assert_int_equal(result, -ENOMEM);
        assert_int_equal(tw_keyed_count(bench.keyed), count);
        assert_int_equal(tw_keyed_get(bench.keyed, key, NULL), expected == 0 ? -ENOENT : 0);
        assert_true(live <= before + 3); /* memory allocated for growth may stay: cells, entries, a table */
    }
}

TEST(set_fails_with_each_of_its_allocations_and_changes_nothing) {
    const long before = live;
    struct bench bench = plain_bench();
    static struct probe probes[KEYS], latter;
    int failures = 0;
    for (unsigned i = 0; i < KEYS; ++i) {
        char text[40];
        const struct tw_key key = key_of(i, text);
        failures += fail_each_of_set(bench, key, &probes[i], 0);
    }
    assert_true(failures > KEYS / 3 + 5); /* long keys, slabs, cells */
    for (unsigned i = 0; i < KEYS; ++i)
        assert_probe(probes[i], 0, 0);
    for (unsigned i = 0; i < KEYS / 2; ++i) {
        char text[40];
        (void)fail_each_of_set(bench, key_of(i, text), &latter, 1);
    }
    pass_ms(bench, 5);
    for (unsigned i = 0; i < KEYS; ++i)
        assert_probe(probes[i], i >= KEYS / 2, 1);
    assert_probe(latter, KEYS / 2, KEYS / 2);
    end_bench(bench);
    assert_int_equal(live, before);
    assert_int_equal(mapped, 0);
}

static void copy_number(void *to, void *from) { memcpy(to, from, sizeof(uint64_t)); }
static unsigned dropped;
static void drop_number(UNUSED void *arg) { ++dropped; }
static void ignore(UNUSED const struct tw_event *event, UNUSED void *arg) {}

/* If the start fails after `copy`, what it made is dropped, and only then. */
TEST(a_set_that_fails_has_dropped_what_was_copied_or_copied_nothing) {
    struct bench bench = new_bench((struct tw_keyed_options){.storage = sizeof(uint64_t)});
    uint64_t number = 1;
    const struct tw_when when = in_ms(5);
    const struct tw_task task = {
        .fn = ignore, .arg = &number, .drop = drop_number, .arg_size = sizeof number, .copy = copy_number};
    unsigned failures_after_copy = 0;
    for (uint64_t i = 0; i < KEYS; ++i) {
        for (int failures = 0;; ++failures) {
            dropped = 0;
            fail_after(failures);
            const int result = tw_keyed_set(bench.keyed, tw_key_number(i), &when, &task);
            if (!one_failed()) {
                assert_int_equal(result, 0);
                assert_int_equal(dropped, 0);
                break;
            }
            assert_int_equal(result, -ENOMEM);
            assert_in_range(dropped, 0, 1);
            failures_after_copy += dropped;
        }
    }
    assert_true(failures_after_copy > 0);
    dropped = 0;
    assert_int_equal(tw_keyed_drain(bench.keyed, NULL, NULL), KEYS);
    assert_int_equal(dropped, KEYS);
    end_bench(bench);
}

/* No other call allocates, so none can fail for lack of memory. */
TEST(no_other_call_needs_memory) {
    struct bench bench = plain_bench();
    struct probe probe = {0, 0};
    for (unsigned i = 0; i < KEYS; ++i) {
        char text[40];
        assert_int_equal(set_in_ms(bench.keyed, key_of(i, text), 5 + i % 2, &probe), 0);
    }
    fail_after(0);
    for (unsigned i = 0; i < KEYS; ++i) {
        char text[40];
        const struct tw_key key = key_of(i, text);
        assert_int_equal(tw_keyed_get(bench.keyed, key, NULL), 0);
        assert_int_equal(tw_keyed_postpone(bench.keyed, key, 5 * TW_MILLISECOND), 0);
        assert_int_equal(tw_keyed_again(bench.keyed, key), 0);
        assert_int_equal(tw_keyed_move(bench.keyed, key, TW_MILLISECOND), 0);
        if (i < 100)
            assert_int_equal(tw_keyed_remove(bench.keyed, key), 1);
        else if (i < 200)
            assert_int_equal(tw_keyed_remove_wait(bench.keyed, key), 1);
        else if (i == 500)
            pass_ms(bench, 1);
    }
    assert_int_equal(tw_keyed_drain(bench.keyed, NULL, NULL), KEYS - 501);
    end_bench(bench);
    assert_false(one_failed());
    assert_probe(probe, 301, KEYS);
}
