/* The functions that a compiler may call even in a program without a C library. They are weak,
 * for images that have one. Built with -fno-tree-loop-distribute-patterns: otherwise the
 * compiler would turn the loops into calls of these very functions. */
#include <stddef.h>

__attribute__((weak)) void *memcpy(void *restrict to, const void *restrict from, size_t size) {
    unsigned char *out = to;
    const unsigned char *in = from;
    while (size-- != 0)
        *out++ = *in++;
    return to;
}

__attribute__((weak)) void *memset(void *to, int value, size_t size) {
    unsigned char *out = to;
    while (size-- != 0)
        *out++ = (unsigned char)value;
    return to;
}

__attribute__((weak)) void *memmove(void *to, const void *from, size_t size) {
    unsigned char *out = to;
    const unsigned char *in = from;
    if (out < in)
        return memcpy(to, from, size);
    while (size-- != 0)
        out[size] = in[size];
    return to;
}
