/* From a stack and nothing else to main(): what a C program expects of memory. */
#include <stdint.h>

#include "begin.h"
#include "host.h"

int main(void);

/* From firmware.ld. */
extern uint32_t data_begin[], data_end[], bss_begin[], bss_end[];
extern const uint32_t data_image[];
extern void (*const init_begin[])(void);
extern void (*const init_end[])(void);

__attribute__((noreturn)) void begin(void) {
    const uint32_t *from = data_image;
    for (uint32_t *to = data_begin; to != data_end; ++to)
        *to = *from++;
    for (uint32_t *to = bss_begin; to != bss_end; ++to)
        *to = 0;
    for (void (*const *init)(void) = init_begin; init != init_end; ++init)
        (*init)();
    host_exit(main());
}

void unexpected_interrupt(void) {
    host_print("unexpected interrupt or fault\n");
    host_exit(99);
}
