// operator new and delete of this program, which fail on demand.
#pragma once

extern thread_local int until_failure;  // allocations of this thread before one fails; -1: none fails
