#include <task.h>
