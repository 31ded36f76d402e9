/* The main of a CMocka test that runs on each shape of the wheel: program [name of a test, or a pattern]. Not
 * on levels of two slots, where the landmarks that such tests aim at are one tick: there the model plays. A
 * tree is the same whatever the distances. */
#include "shapes.h"
#include "support/test.h"

#include <tickwheel/tw.h>

int main(int count, char **arguments) {
    const char *const slash = strrchr(arguments[0], '/');
    int failed = 0;
    for (unsigned i = 0; use_shape(i) && (i == 0 || !TW_TREE); ++i) {
        char name[120];
        if (shape->bits < 2)
            continue;
        snprintf(name, sizeof name, "%s on %s", slash != NULL ? slash + 1 : arguments[0], shape->name);
        failed += run_registered_tests(name, count > 1 ? arguments[1] : NULL);
    }
    return failed;
}
