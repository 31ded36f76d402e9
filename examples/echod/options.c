#include "options.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static const struct number_option *find(const char *argument, const struct number_option *options,
                                        size_t count) {
    if (strncmp(argument, "--", 2) != 0)
        return NULL;
    for (size_t i = 0; i < count; ++i)
        if (strcmp(argument + 2, options[i].name) == 0)
            return &options[i];
    return NULL;
}

static bool set(const struct number_option *option, const char *text) {
    char *end;
    errno = 0;
    long number = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || number < option->least || number > option->most)
        return false;
    *option->value = number;
    return true;
}

static void print_usage(const char *program, const struct number_option *options, size_t count) {
    fprintf(stderr, "usage: %s [--OPTION NUMBER]...\n", program);
    for (size_t i = 0; i < count; ++i)
        fprintf(stderr, "  --%-12s %s (%ld)\n", options[i].name, options[i].meaning, *options[i].value);
}

bool options_parse(int argc, char **argv, const struct number_option *options, size_t count) {
    for (int i = 1; i < argc; i += 2) {
        const struct number_option *option = find(argv[i], options, count);
        if (option == NULL || i + 1 == argc || !set(option, argv[i + 1])) {
            print_usage(argv[0], options, count);
            return false;
        }
    }
    return true;
}

long descriptors_allowed(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 0;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    getrlimit(RLIMIT_NOFILE, &limit);
    return limit.rlim_cur < LONG_MAX ? (long)limit.rlim_cur : LONG_MAX;
}
