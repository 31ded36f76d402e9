/* host.h - the way out of an image: text to whoever runs it, and a result. On QEMU these
 * are semihosting, and the result is QEMU's exit status. */
#ifndef HOST_H
#define HOST_H

#ifdef __cplusplus
extern "C" {
#endif

void host_print(const char *text);
void host_print_number(unsigned long number);

/* Ends the image; 0 says that all went well. */
__attribute__((noreturn)) void host_exit(int status);

#ifdef __cplusplus
}
#endif

#endif
