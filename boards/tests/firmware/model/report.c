/* The model's reports through host_print, with the parts of printf that it uses. */
#include "core/model/report.h"

#include <host.h>

#include <stdbool.h>
#include <stdint.h>

/* The flags between % and the letter of a conversion. */
struct conversion {
    bool alternate; /* # */
    bool padded;    /* * */
    unsigned longs;
};

static void print_character(char c) {
    const char text[] = {c, '\0'};
    host_print(text);
}

static void print_digits(uint64_t value, unsigned base) {
    char digits[20 + 1];
    char *first = digits + sizeof digits;
    *--first = '\0';
    do {
        *--first = "0123456789abcdef"[value % base];
        value /= base;
    } while (value != 0);
    host_print(first);
}

static void print_signed(int value) {
    if (value < 0)
        host_print("-");
    print_digits(value < 0 ? 0u - (unsigned)value : (unsigned)value, 10);
}

static const char *read_conversion(const char *format, struct conversion *c) {
    *c = (struct conversion){.alternate = false};
    for (;; ++format) {
        if (*format == '#')
            c->alternate = true;
        else if (*format == '*')
            c->padded = true;
        else if (*format == 'l')
            ++c->longs;
        else if (*format != 'z') /* size_t is as long as unsigned */
            return format;
    }
}

static uint64_t take_unsigned(va_list *arguments, unsigned longs) {
    if (longs == 2)
        return va_arg(*arguments, unsigned long long);
    return longs == 1 ? va_arg(*arguments, unsigned long) : va_arg(*arguments, unsigned);
}

static void convert(char letter, const struct conversion *c, va_list *arguments) {
    int width = c->padded ? va_arg(*arguments, int) : 0;
    while (width-- > 0)
        host_print(" ");
    switch (letter) {
    case 's':
        host_print(va_arg(*arguments, const char *));
        break;
    case 'd':
        print_signed(va_arg(*arguments, int));
        break;
    case 'x':
        if (c->alternate)
            host_print("0x");
        print_digits(take_unsigned(arguments, c->longs), 16);
        break;
    case 'u':
        print_digits(take_unsigned(arguments, c->longs), 10);
        break;
    default:
        host_print("(a conversion that report.c does not know)");
        break;
    }
}

void report_list(const char *format, va_list list) {
    va_list arguments;
    va_copy(arguments, list);
    for (; *format != '\0'; ++format) {
        struct conversion c;
        if (*format != '%') {
            print_character(*format);
            continue;
        }
        format = read_conversion(format + 1, &c);
        convert(*format, &c, &arguments);
    }
    va_end(arguments);
}

void report(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    report_list(format, arguments);
    va_end(arguments);
}

void report_ends(void) { host_exit(1); }
