// Comparisons. The freestanding core has no <algorithm>.
#pragma once

namespace tickwheel::base {

template <class Number> constexpr Number smaller(Number a, Number b) { return a < b ? a : b; }
template <class Number> constexpr Number larger(Number a, Number b) { return a < b ? b : a; }

// True if an enumerator from a C caller is one of first .. last. Copies its bytes, because loading an
// enumerator outside its range is undefined, so the compiler might drop the check.
template <class Enum> bool is_one_of(const Enum &value, Enum first, Enum last) {
    using number = __underlying_type(Enum);
    number given;
    __builtin_memcpy(&given, &value, sizeof given);
    return given >= static_cast<number>(first) && given <= static_cast<number>(last);
}

}  // namespace tickwheel::base
