/* host.h - an image's channel to its host: text output and an exit status. On QEMU text goes through
 * semihosting, and the status, through semihosting or RISC-V's test device, becomes QEMU's own. */
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
