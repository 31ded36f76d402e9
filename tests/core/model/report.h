/* report.h - how the model reports a failure and ends: report.c on a host, a file with the
 * same functions elsewhere. The formats are those of printf. */
#ifndef TICKWHEEL_TESTS_REPORT_H
#define TICKWHEEL_TESTS_REPORT_H

#include <stdarg.h>

__attribute__((format(printf, 1, 2))) void report(const char *format, ...);
__attribute__((format(printf, 1, 0))) void report_list(const char *format, va_list arguments);
_Noreturn void report_ends(void);

#endif
