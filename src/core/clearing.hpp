// The calls of tw_clear that are under way.
#pragma once

#include <tickwheel/tw.h>

#include <cstdint>

#include "features.hpp"

namespace tickwheel::core {
namespace {

// One of them; lives on its caller's stack.
struct clearing {
    clearing *next;             // the one that began before it
    std::uintptr_t thread;      // of its caller
    const tw_node *handed_out;  // the node that is with `each`; compared, never followed
    tw_node *top;  // of the tree of nodes that it has taken over and not handed out yet; slots: null
};

// All of a wheel, the one that began last in front.
class clearings {
  public:
    clearing *first() const { return first_; }

    void add(clearing &one) {
        one.next = first_;
        first_ = &one;
    }

    // On one thread, the one that began last ends first.
    void remove(const clearing &one) {
        clearing **link = &first_;
        while (has_threads && *link != &one)
            link = &(*link)->next;
        *link = one.next;
    }

    // Removes those of all threads but this one.
    void keep(std::uintptr_t thread) {
        clearing **link = &first_;
        while (*link != nullptr) {
            if ((*link)->thread == thread)
                link = &(*link)->next;
            else
                *link = (*link)->next;
        }
    }

  private:
    clearing *first_;
};

}  // namespace
}  // namespace tickwheel::core
