// Reports and counts the broken invariants that a checker finds.
#pragma once

#include <tickwheel/tw.h>

namespace tickwheel::core {

class broken_invariants {
  public:
    broken_invariants(tw_report *report, void *arg) : report_(report), arg_(arg) {}  // `report` may be null

    void expect(bool holds, const char *invariant, const tw_node *node = nullptr) {
        if (holds)
            return;
        ++count_;
        if (report_ != nullptr)
            report_(invariant, node, arg_);
    }
    int count() const { return count_; }

  private:
    tw_report *report_;
    void *arg_;
    int count_ = 0;
};

}  // namespace tickwheel::core
