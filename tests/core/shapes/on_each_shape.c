/* The main of a CMocka test that runs on each shape of the wheel: program [pattern of names [unlocked]]. It
 * leaves out levels of two slots, where the landmarks of promise.h are too close together; the model test
 * covers these shapes. */
#include "shapes.h"
#include "support/test.h"

bool wheels_are_unlocked;

int main(int count, char **arguments) {
    const char *const slash = strrchr(arguments[0], '/');
    int failed = 0;
    wheels_are_unlocked = count > 2 && strcmp(arguments[2], "unlocked") == 0;
    for (unsigned i = 0; use_shape(i) && (i == 0 || !shape->is_tree); ++i) {
        char name[120];
        if (shape->bits < 2)
            continue;
        snprintf(name, sizeof name, "%s on %s", slash != NULL ? slash + 1 : arguments[0], shape->name);
        failed += run_registered_tests(name, count > 1 ? arguments[1] : NULL);
    }
    return failed;
}
