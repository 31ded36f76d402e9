// What a thread is in at the moment, one inside the other, for those who have to know.
#pragma once

namespace tickwheel::runtime {

// A Frame derives from on_stack<Frame>, and is a local variable for as long as it is so.
template <class Frame> class on_stack {
  public:
    on_stack(const on_stack &) = delete;
    on_stack &operator=(const on_stack &) = delete;

  protected:
    on_stack() : outer_(innermost_) { innermost_ = this; }
    ~on_stack() { innermost_ = outer_; }

    // The innermost of this thread for which is(frame). Null: there is none.
    template <class Is> static const Frame *find(Is is) {
        for (const on_stack *each = innermost_; each != nullptr; each = each->outer_)
            if (const auto &frame = static_cast<const Frame &>(*each); is(frame))
                return &frame;
        return nullptr;
    }

  private:
    static inline constinit thread_local const on_stack *innermost_ = nullptr;
    const on_stack *outer_;
};

}  // namespace tickwheel::runtime
