/* ESP-IDF's FreeRTOS: the stand-in of the other tests, and a spinlock. The program ends if it takes the
 * spinlock twice, or releases it without holding it. */
#ifndef ESP_FREERTOS_H
#define ESP_FREERTOS_H

#include <FreeRTOS.h>

typedef struct {
    int unused;
} portMUX_TYPE;
#define portMUX_INITIALIZER_UNLOCKED \
    { 0 }
#define portENTER_CRITICAL_SAFE(mux) ((void)(mux), (void)test_mask())
#define portEXIT_CRITICAL_SAFE(mux) ((void)(mux), test_unmask(0))

#endif
