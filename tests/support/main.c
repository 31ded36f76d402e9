/* The main of a test program that has none of its own: program [name of a test, or a pattern]. */
#include "support/test.h"

int main(int count, char **arguments) {
    const char *const slash = strrchr(arguments[0], '/');
    return run_registered_tests(slash != NULL ? slash + 1 : arguments[0], count > 1 ? arguments[1] : NULL);
}
