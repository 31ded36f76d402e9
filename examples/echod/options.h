/* Options that are all of one kind, --name NUMBER: of the daemon and of its load client. */
#ifndef ECHOD_OPTIONS_H
#define ECHOD_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

struct number_option {
    const char *name; /* without the dashes */
    long *value;      /* holds the default */
    long least, most;
    const char *meaning;
};

/* Sets the values. If they make no sense, or for --help, prints how to use the program
 * and returns false. */
bool options_parse(int argc, char **argv, const struct number_option *options, size_t count);

/* Allows this process as many descriptors as the system grants; returns how many. */
long descriptors_allowed(void);

#endif
