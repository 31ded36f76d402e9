/* The kernel's configuration on the boards of the tests: a Cortex-M3 at 25 MHz, all memory static. */
#define configCPU_CLOCK_HZ 25000000u
#define configTICK_RATE_HZ 1000
#define configUSE_16_BIT_TICKS 0
#define configUSE_PREEMPTION 1
#define configMAX_PRIORITIES 8
#define configMINIMAL_STACK_SIZE 128
#define configSTACK_DEPTH_TYPE uint32_t
#define configMAX_TASK_NAME_LEN 12
#define configSUPPORT_STATIC_ALLOCATION 1
#define configSUPPORT_DYNAMIC_ALLOCATION 0
#define configUSE_IDLE_HOOK 0
#define configUSE_MUTEXES 0
#define configKERNEL_INTERRUPT_PRIORITY 255
#define configMAX_SYSCALL_INTERRUPT_PRIORITY 128
#define INCLUDE_vTaskDelay 1
#define INCLUDE_vTaskSuspend 1
#define INCLUDE_xTaskGetCurrentTaskHandle 1

#ifndef configUSE_TICK_HOOK
#define configUSE_TICK_HOOK 0
#endif
#ifndef configUSE_TIMERS
#define configUSE_TIMERS 0
#endif
#define configTIMER_TASK_PRIORITY 5
#define configTIMER_TASK_STACK_DEPTH 256
#define configTIMER_QUEUE_LENGTH 8
