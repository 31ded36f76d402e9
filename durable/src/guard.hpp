// The edge between C++ and C: no exception crosses it.
#pragma once

#include <cerrno>
#include <new>

// A public function.
#define TW_API extern "C" __attribute__((visibility("default")))

namespace tickwheel::durable {

// Returns the function's result, or -ENOMEM.
template <class Function> auto guarded(const Function &function) noexcept -> decltype(function()) {
    try {
        return function();
    } catch (const std::bad_alloc &) {
        return -ENOMEM;
    }
}

}  // namespace tickwheel::durable
