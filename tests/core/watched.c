/* The fault handler behind watched.h: counts the first access to each page and opens the page. */
#define _DEFAULT_SOURCE
#include "watched.h"

#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static char *pages;
static size_t page_size, node_count;
static size_t *touched; /* numbers of the pages that are open */
static size_t touched_count;
static struct sigaction before;

/* Makes only async-signal-safe calls. (The fault is synchronous, besides.) */
static void open_page(__attribute__((unused)) int signal, siginfo_t *info,
                      __attribute__((unused)) void *context) {
    const uintptr_t offset = (uintptr_t)info->si_addr - (uintptr_t)pages;
    const size_t i = offset / page_size;
    if (i >= node_count) {
        sigaction(SIGSEGV, &before, NULL); /* a genuine fault: let it happen again */
        return;
    }
    mprotect(pages + i * page_size, page_size, PROT_READ | PROT_WRITE);
    touched[touched_count++] = i;
}

struct tw_node *watched_node(size_t i) {
    return (struct tw_node *)(void *)(pages + i * page_size);
}

void watched_open(size_t n, tw_callback *fn, void *arg) {
    struct sigaction action = {.sa_sigaction = open_page, .sa_flags = SA_SIGINFO};
    node_count = n;
    page_size = (size_t)sysconf(_SC_PAGESIZE);
    pages = mmap(NULL, n * page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    touched = malloc(n * sizeof *touched);
    if (pages == MAP_FAILED || !touched)
        abort();
    for (size_t i = 0; i < n; ++i)
        if (tw_node_init(watched_node(i), fn, arg) != 0)
            abort();
    sigaction(SIGSEGV, &action, &before);
    watch_resume();
}

void watched_close(void) {
    sigaction(SIGSEGV, &before, NULL);
    munmap(pages, node_count * page_size);
    free(touched);
    touched = NULL;
    node_count = touched_count = 0;
}

void watch_pause(void) {
    touched_count = 0;
    if (mprotect(pages, node_count * page_size, PROT_READ | PROT_WRITE) != 0)
        abort();
}

void watch_resume(void) {
    touched_count = 0;
    if (mprotect(pages, node_count * page_size, PROT_NONE) != 0)
        abort();
}

size_t watched_touched(void) { return touched_count; }

void watch_again(void) {
    while (touched_count) {
        char *page = pages + touched[--touched_count] * page_size;
        if (mprotect(page, page_size, PROT_NONE) != 0)
            abort();
    }
}
