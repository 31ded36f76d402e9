// The tw_cancel_all calls under way.
#pragma once

#include <tickwheel/tw.h>

#include <cstdint>

#include "features.hpp"

namespace tickwheel::core {
namespace {

// One tw_cancel_all call, on its caller's stack.
struct clearing {
    clearing *next;             // the clear that began before this one
    std::uintptr_t thread;      // the calling thread
    const tw_node *handed_out;  // the node that `each` has now; compared, never followed
    tw_node *top;               // the top of the tree of nodes not handed out yet; slots: null
};

// The clears of a wheel, the latest first.
class clearings {
  public:
    clearing *first() const { return first_; }

    void add(clearing &one) {
        one.next = first_;
        first_ = &one;
    }

    // On one thread, the clear that began last ends first.
    void remove(const clearing &one) {
        clearing **link = &first_;
        while (has_threads && *link != &one)
            link = &(*link)->next;
        *link = one.next;
    }

    // Removes the clears of all threads but this one.
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
