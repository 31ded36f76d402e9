// A wheel for the tests of tw_check to break, and what tw_check reports about it.
#pragma once

#include <tickwheel/tw.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "core/wheel_state.hpp"
#include "support/test.h"

#include "test_access.hpp"

namespace {

tw storage;

tickwheel::core::test_access inside() {
    return {tickwheel::core::wheel_in<tickwheel::core::library_wheel>(&storage)};
}

void ignore(tw_node *, void *) {}

void pend(tw_node &node, tw_tick t) {
    assert_int_equal(tw_node_init(&node, ignore, nullptr), 0);
    assert_int_equal(tw_arm_at(&storage, &node, t), 0);
}

struct found {
    std::string invariant;
    const tw_node *node;
};

void collect(const char *invariant, const tw_node *node, void *arg) {
    static_cast<std::vector<found> *>(arg)->push_back({invariant, node});
}

// Asserts that the checker reports this invariant, for `node` unless that is null.
void assert_names(const std::string &invariant, const tw_node *node = nullptr) {
    std::vector<found> all;
    const int broken = tw_check(&storage, collect, &all);
    assert_int_equal(broken, all.size());
    assert_int_equal(tw_check(&storage, nullptr, nullptr), broken);
    const bool named = std::any_of(all.begin(), all.end(), [&](const found &one) {
        return one.invariant == invariant && (node == nullptr || one.node == node);
    });
    for (const found &one : all)  // the checker must not pass a slot as a node
        assert_false(std::less_equal<const void *>()(&storage, one.node) &&
                     std::less<const void *>()(one.node, &storage + 1));
    if (!named)
        fail_msg("not reported: %s (but: %s)", invariant.c_str(),
                 all.empty() ? "nothing" : all[0].invariant.c_str());
}

// A way to break a wheel, and the invariant that the checker must then report, for that node if one is given.
struct breakage {
    const char *invariant;
    void (*act)();
    const tw_node *node = nullptr;
};

// Breaks a fresh wheel in each of these ways.
template <std::size_t N> void assert_names_each(int (*fresh)(void **), const breakage (&all)[N]) {
    for (const breakage &one : all) {
        assert_int_equal(fresh(nullptr), 0);
        one.act();
        assert_names(one.invariant, one.node);
    }
}

}  // namespace
