// operator new and delete of this program: they fail when they are told to.
#pragma once

extern thread_local int until_failure;  // allocations of this thread; -1: none fails
