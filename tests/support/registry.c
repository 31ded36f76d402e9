/* The tests of a program, which register themselves before main begins (test.h). */
#include "support/lanes.h"
#include "support/test.h"

#include <fnmatch.h>
#include <stdbool.h>

CMFixtureFunction group_setup, group_teardown;

/* The tests by file, in the order in which the files are linked. Within a file we sort them by their place,
 * because a compiler may run constructors in any order. */
static struct registered_test *first;

static bool goes_before(const struct registered_test *test, const struct registered_test *other) {
    return strcmp(test->file, other->file) == 0 && test->place < other->place;
}

void register_test(struct registered_test *test) {
    struct registered_test **at = &first;
    while (*at != NULL && !goes_before(test, *at))
        at = &(*at)->next;
    test->next = *at;
    *at = test;
}

/* True if `name` is the name of the test's source, without folders and suffix. */
static bool is_in_source(const struct registered_test *test, const char *name) {
    const char *const slash = strrchr(test->file, '/'), *const base = slash != NULL ? slash + 1 : test->file;
    const size_t length = strcspn(base, ".");
    return strlen(name) == length && memcmp(base, name, length) == 0;
}

static bool is_chosen(const struct registered_test *test, const char *pattern) {
    return pattern == NULL || is_in_source(test, pattern) || fnmatch(pattern, test->test.name, 0) == 0;
}

/* Fills in `chosen` unless it is NULL. Returns the number of tests that match. */
static size_t choose(const char *pattern, struct CMUnitTest *chosen) {
    const struct registered_test none = {.file = ""}, *fixture = &none;
    size_t count = 0;
    for (const struct registered_test *each = first; each != NULL; each = each->next) {
        if (strcmp(each->file, fixture->file) != 0)
            fixture = &none;
        if (each->test.test_func == NULL)
            fixture = each;
        else if (is_chosen(each, pattern)) {
            if (chosen != NULL) {
                chosen[count] = each->test;
                chosen[count].setup_func = fixture->test.setup_func;
                chosen[count].teardown_func = fixture->test.teardown_func;
            }
            ++count;
        }
    }
    return count;
}

int run_registered_tests(const char *group, const char *pattern) {
    choose_lanes();
    const size_t count = choose(pattern, NULL);
    if (count == 0) {
        print_error("%s has no test \"%s\"\n", group, pattern != NULL ? pattern : "*");
        return 1;
    }
    struct CMUnitTest tests[count];
    choose(pattern, tests);
    return cmocka_run_group_tests_name(group, tests, group_setup, group_teardown);
}
