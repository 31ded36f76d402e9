// Stops the program because of a failed assertion or a broken ring. Needs no C library. A port that can print
// (TW_PORT_TELLS in port.h) first prints what is broken.
#pragma once

#include <tickwheel/port.h>
#include <tickwheel/tw.h>

namespace tickwheel::core {

#ifdef NDEBUG
inline constexpr bool asserts = false;
#else
inline constexpr bool asserts = true;
#endif

// True if walks compare a node's links with its neighbours' before they follow them. Small processors, whose
// port cannot print, do so only in builds with assertions.
#ifdef TW_PORT_TELLS
inline constexpr bool links_are_checked = true;
#else
inline constexpr bool links_are_checked = asserts;
#endif

#ifdef TW_PORT_TELLS
#define TW_TELL(...) tw_port_tell(__VA_ARGS__)
#else
#define TW_TELL(...) static_cast<void>(0)
#endif

[[noreturn, gnu::cold, gnu::noinline]] inline void stop([[maybe_unused]] const char *broken,
                                                        [[maybe_unused]] const tw_node *node = nullptr) {
    TW_TELL(broken, node, node != nullptr ? node->state : 0), __builtin_trap();  // null: TW_ASSERT
}

}  // namespace tickwheel::core

// TW_ASSERT_OF(node, condition) names the node.
#ifdef NDEBUG
#define TW_ASSERT(condition) static_cast<void>(0)
#define TW_ASSERT_OF(node, condition) static_cast<void>(0)
#else
#define TW_ASSERT(condition) ((condition) ? static_cast<void>(0) : ::tickwheel::core::stop(#condition))
#define TW_ASSERT_OF(node, condition) \
    ((condition) ? static_cast<void>(0) : ::tickwheel::core::stop(#condition, &(node)))
#endif
