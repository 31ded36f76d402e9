// The tw_cancel_all calls under way.
#pragma once

#include <tickwheel/tw.h>

#include <cstdint>

#include "features.hpp"

namespace tickwheel::core {
namespace {

// One tw_cancel_all call, on its caller's stack.
struct cancel_all_call {
    cancel_all_call *next;      // the call that began before this one
    std::uintptr_t thread;      // the calling thread
    const tw_node *handed_out;  // the node that `each` has now; compared, never followed
    tw_node *top;               // the top of the tree of nodes not handed out yet; slots: null
};

// A wheel's calls under way, the latest first.
class cancel_all_calls {
  public:
    cancel_all_call *first() const { return first_; }

    void add(cancel_all_call &one) {
        one.next = first_;
        first_ = &one;
    }

    // Without threads there is nothing to search: the call that began last ends first.
    void remove(const cancel_all_call &one) {
        cancel_all_call **link = &first_;
        while (has_threads && *link != &one)
            link = &(*link)->next;
        *link = one.next;
    }

    // Removes the calls of all threads but this one.
    void keep(std::uintptr_t thread) {
        cancel_all_call **link = &first_;
        while (*link != nullptr) {
            if ((*link)->thread == thread)
                link = &(*link)->next;
            else
                *link = (*link)->next;
        }
    }

  private:
    cancel_all_call *first_;
};

}  // namespace
}  // namespace tickwheel::core
