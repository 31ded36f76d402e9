/* Numbers as text, for images without printf. */
#include "host.h"

void host_print_number(unsigned long number) {
    char digits[3 * sizeof number + 1];
    char *first = digits + sizeof digits;
    *--first = '\0';
    do {
        *--first = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    host_print(first);
}
