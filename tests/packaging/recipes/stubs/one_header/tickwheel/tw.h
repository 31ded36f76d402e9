#include <tickwheel.h>
