// The kinds of a claim.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

#include <tickwheel/durable_store.h>

namespace tickwheel::durable {

// True if the claim has named the same kind before: stores ignore the second one.
inline bool is_named_before(const tw_store_claim &claim, std::size_t index) {
    const std::string_view name = claim.kinds[index];
    return std::any_of(claim.kinds, claim.kinds + index, [name](const char *each) { return name == each; });
}

}  // namespace tickwheel::durable
