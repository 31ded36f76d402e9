/* Reports of the model on a host. See report.h. */
#include "report.h"

#include <stdio.h>
#include <stdlib.h>

void report_list(const char *format, va_list arguments) {
    fflush(stdout); /* keep the order of stdout and stderr */
    vfprintf(stderr, format, arguments);
}

void report(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    report_list(format, arguments);
    va_end(arguments);
}

void report_ends(void) { abort(); }
