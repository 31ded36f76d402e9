/* The default main of a test program: program [names of tests or of sources, or patterns]. */
#include "support/test.h"

int main(int count, char **arguments) {
    const char *const slash = strrchr(arguments[0], '/');
    const char *const group = slash != NULL ? slash + 1 : arguments[0];
    if (count == 1)
        return run_registered_tests(group, NULL);
    int failed = 0;
    for (int i = 1; i < count; ++i)
        failed += run_registered_tests(group, arguments[i]);
    return failed;
}
