/* The kernel's configuration in tests on the build machine. */
#define configTICK_RATE_HZ 1000
#define configMAX_PRIORITIES 5
#define configSUPPORT_STATIC_ALLOCATION 1
#define configSUPPORT_DYNAMIC_ALLOCATION 1
#define configUSE_TIMERS 0
#define configUSE_MUTEXES 0
#define INCLUDE_vTaskDelay 1
#define INCLUDE_xTaskGetCurrentTaskHandle 1
#define INCLUDE_xTaskGetSchedulerState 1
