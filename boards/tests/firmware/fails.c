/* Tests the exit path: a non-zero result of main arrives as the exit status. */
#include <host.h>

int main(void) {
    host_print("this image fails\n");
    return RESULT;
}
