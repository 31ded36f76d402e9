// The library's wheel. The tree's nodes have fields that the nodes of slots lack, so a build has only one of
// the two engines.
#pragma once

#include "wheel.hpp"

#if TW_TREE
#include "tree_checker.hpp"
#else
#include "slot_checker.hpp"
#endif

namespace tickwheel::core {
namespace {

// A separate type, because debuggers look it up by name.
#if TW_TREE
struct library_wheel : wheel<tree_engine> {};
#else
struct library_wheel : wheel<slot_engine<library_shape>> {};
#endif

}  // namespace
}  // namespace tickwheel::core
