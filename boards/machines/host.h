/* host.h - an image's channel to its host: text output and an exit status. On QEMU both use
 * semihosting, and the status becomes QEMU's own. */
#ifndef HOST_H
#define HOST_H

#ifdef __cplusplus
extern "C" {
#endif

void host_print(const char *text);
void host_print_number(unsigned long number);

/* Ends the image; 0 means success. */
__attribute__((noreturn)) void host_exit(int status);

#ifdef __cplusplus
}
#endif

#endif
