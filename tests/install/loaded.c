/* loaded LIBRARY: loads the library by dlopen, as a plugin would. A thread's first call
 * allocates nothing, not even its thread-local storage (P10). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <tickwheel/runtime.h>

static _Thread_local int counts;
static _Thread_local unsigned allocations;

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

/* Replaces the C library's malloc, for the dynamic linker, too. */
void *malloc(size_t size) {
    allocations += counts != 0;
    return __libc_malloc(size);
}
void *calloc(size_t count, size_t size) {
    allocations += counts != 0;
    return __libc_calloc(count, size);
}
void *aligned_alloc(size_t alignment, size_t size) {
    allocations += counts != 0;
    return __libc_memalign(alignment, size);
}

static int64_t (*due)(struct tw_runtime *);
static int (*stop)(struct tw_runtime *);

static void *call_first(void *rt) {
    counts = 1;
    due(rt);
    stop(rt);
    counts = 0;
    return allocations == 0 ? NULL : rt;
}

int main(int argc, char **argv) {
    void *const library = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
    int (*make)(struct tw_runtime **, const struct tw_runtime_options *);
    struct tw_runtime *rt;
    pthread_t thread;
    void *has_allocated;
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    *(void **)&make = dlsym(library, "tw_runtime_new");
    *(void **)&due = dlsym(library, "tw_runtime_due");
    *(void **)&stop = dlsym(library, "tw_runtime_stop");
    if (make(&rt, NULL) != 0 || pthread_create(&thread, NULL, call_first, rt) != 0)
        return 2;
    pthread_join(thread, &has_allocated);
    if (has_allocated != NULL)
        fprintf(stderr, "the first call of a thread has allocated\n");
    return has_allocated == NULL ? 0 : 3;
}
