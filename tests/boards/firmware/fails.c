/* The way out: a status that is not 0 arrives, through main's return. */
#include <host.h>

int main(void) {
    host_print("this image fails\n");
    return RESULT;
}
