/* Takes an image from a bare stack to main(): sets up memory as C expects it, and ends the
 * image on an unexpected interrupt. */
#include <stdint.h>

#include "begin.h"
#include "board.h"
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
    const int status = main();
    host_exit(status != 0 && (status & 0xff) == 0 ? 1 : status); /* the host sees 8 bits of the status */
}

void fail_image(const char *message) {
    host_print(message);
    host_exit(99);
}

void unexpected_interrupt(void) { fail_image("unexpected interrupt or fault\n"); }

/* Default handlers, for interrupts that the image does not handle. */
__attribute__((weak)) void on_tick(void) { unexpected_interrupt(); }
__attribute__((weak)) void on_signal(void) { unexpected_interrupt(); }
__attribute__((weak)) void on_alarm(void) { unexpected_interrupt(); }
