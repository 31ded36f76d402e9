// The engine that the library is built with. The tree's nodes have fields that those of slots lack, so only
// one of the two is compiled.
#pragma once

#include <tickwheel/tw.h>

#if TW_TREE
#include "tree_checker.hpp"
#else
#include "slot_checker.hpp"
#endif

namespace tickwheel::core {
namespace {

#if TW_TREE
using library_engine = tree_engine;
#else
using library_engine = slot_engine<library_shape>;
#endif

}  // namespace
}  // namespace tickwheel::core
