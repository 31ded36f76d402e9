// Linked to every program of a mutated build: chooses the mutant that the environment names, or records which
// mutants a program reaches.
//
//   TW_MUTANT=n            the mutant n takes the place of the original
//   TW_MUTANT_RECORD=file  the byte n of the file becomes 1 when the place of the mutant n is reached; by
//                          children of a fork, too, and however the process ends
//
// Some tests wrap functions of the C library (--wrap) to make them fail or to count them. The linker would
// redirect the calls in this file, too, so this file makes system calls by number, with the original syscall.
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MOST = 1 << 16 };

// The linker knows this name where syscall is wrapped.
__attribute__((weak)) long real_syscall(long number, ...) __asm__("__real_syscall");

// Not zero: ask tw_mutant_is_selected. Nearly all are zero, which is quick to see.
unsigned char tw_mutants[MOST];
static unsigned char *reached;  // null: nothing is recorded

int tw_mutant_is_selected(unsigned number) {
    if (reached == NULL)
        return 1;
    reached[number] = 1;
    tw_mutants[number] = 0;
    return 0;
}

static void record_into(const char *file) {
    long (*const call)(long, ...) = real_syscall != NULL ? real_syscall : syscall;
    const long fd = call(SYS_openat, AT_FDCWD, file, O_RDWR | O_CLOEXEC);
    const long mapped = call(SYS_mmap, NULL, (size_t)MOST, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0L);
    if (mapped < 0 && mapped > -4096)
        abort();
    call(SYS_close, fd);
    memcpy(&reached, &mapped, sizeof reached);
    for (int i = 0; i < MOST; ++i)
        tw_mutants[i] = 1;
}

// Runs before other constructors, which may call mutated code.
__attribute__((constructor(101))) static void select_mutant(void) {
    const char *const number = getenv("TW_MUTANT");
    const char *const file = getenv("TW_MUTANT_RECORD");
    if (number != NULL)
        tw_mutants[strtoul(number, NULL, 10) % MOST] = 1;
    else if (file != NULL)
        record_into(file);
}
