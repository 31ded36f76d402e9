/* The engine is the one that the options ask for; and fires.h is there. */
#include <tickwheel/fires.h>

#if TW_TREE != IS_TREE
#error "the component has the other engine"
#endif
