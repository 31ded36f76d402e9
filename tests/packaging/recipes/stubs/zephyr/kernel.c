#include <stdlib.h>

static unsigned int locked;

unsigned int irq_lock(void) { return locked++; }

void irq_unlock(unsigned int key) {
    if (--locked != key)
        abort();
}

void *k_current_get(void) { return &locked; }
int k_sleep(long long ticks) { return ticks != 1; }
