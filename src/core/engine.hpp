// The engine that the library is built with. The headers of an engine are empty in a library with the other
// one, whose nodes lack what they use.
#pragma once

#include "slot_engine.hpp"
#include "tree_engine.hpp"

namespace tickwheel::core {
namespace {

#if TW_TREE
using engine = tree_engine;
#else
using engine = slot_engine;
#endif

}  // namespace
}  // namespace tickwheel::core
