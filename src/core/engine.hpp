// The wheel that the library is built with. The tree's nodes have fields that those of slots lack, so only
// one of the two engines is compiled.
#pragma once

#include "wheel.hpp"

#if TW_TREE
#include "tree_checker.hpp"
#else
#include "slot_checker.hpp"
#endif

namespace tickwheel::core {
namespace {

// A type of its own, because debuggers look it up by its name.
#if TW_TREE
struct library_wheel : wheel<tree_engine> {};
#else
struct library_wheel : wheel<slot_engine<library_shape>> {};
#endif

}  // namespace
}  // namespace tickwheel::core
