// The wheel in a struct tw.
#pragma once

#include <new>

#include "wheel.hpp"

namespace tickwheel::core {
namespace {

template <class Wheel> Wheel &wheel_in(tw *w) {
    static_assert(sizeof(Wheel) <= sizeof(tw), "TW_STORAGE in tw.h does not fit the wheel");
    static_assert(alignof(Wheel) <= alignof(tw));
    return *std::launder(reinterpret_cast<Wheel *>(w->storage.bytes));
}

// What every wheel begins with.
inline wheel_state &state_in(tw *w) { return wheel_in<wheel_state>(w); }

}  // namespace
}  // namespace tickwheel::core
