/* The programs of this test exit with 1 at the first mistake. */
#include <stdio.h>
#include <stdlib.h>

#define EXPECT(condition) \
    do { \
        if (!(condition)) { \
            printf("line %d: %s\n", __LINE__, #condition); \
            exit(1); \
        } \
    } while (0)
