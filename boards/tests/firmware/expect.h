/* expect.h - assertions in an image: the first one that fails ends it. */
#ifndef EXPECT_H
#define EXPECT_H

#include <host.h>

#define EXPECT(condition) ((condition) ? (void)0 : expect_failed(__FILE__, __LINE__, #condition))

static inline void expect_failed(const char *file, unsigned long line, const char *condition) {
    host_print(file);
    host_print(":");
    host_print_number(line);
    host_print(": expected ");
    host_print(condition);
    host_print("\n");
    host_exit(1);
}

static inline void say(const char *what, unsigned long number) {
    host_print(what);
    host_print(" ");
    host_print_number(number);
    host_print("\n");
}

#endif
