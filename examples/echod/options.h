/* Options of the form --name NUMBER, for the daemon and its load client. */
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

/* Sets the values. If they are invalid, or for --help, prints the usage and returns false. */
bool options_parse(int argc, char **argv, const struct number_option *options, size_t count);

/* Raises the limit of descriptors to what the system allows, and returns it. */
long descriptors_allowed(void);

#endif
