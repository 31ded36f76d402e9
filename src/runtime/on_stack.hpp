// What a thread is in at the moment, one inside the other, for those who have to know.
#pragma once

#include <features.h>

// What a thread has of the library's is there from its beginning, also where the library was
// loaded by dlopen: else its first call would allocate that (P10). Of glibc's reserve for
// libraries that are loaded late it takes two pointers.
#ifdef __GLIBC__
#define TW_THREAD_LOCAL __attribute__((tls_model("initial-exec"))) thread_local
#else
#define TW_THREAD_LOCAL thread_local
#endif

namespace tickwheel::runtime {

// A Frame derives from on_stack<Frame>, and is a local variable for as long as it is so.
class stack_frame {
  public:
    stack_frame(const stack_frame &) = delete;
    stack_frame &operator=(const stack_frame &) = delete;

    // As its end, which does not come by itself when an exception passes (exceptions.h): this
    // thread is in it no more, nor in what was inside it.
    void leave() const { innermost_ = outer_; }

  protected:
    explicit stack_frame(const void *kind) : kind_(kind), outer_(innermost_) { innermost_ = this; }
    ~stack_frame() { leave(); }

    // The innermost of this thread that is of this kind, or of those outside of it.
    static const stack_frame *first_of(const void *kind) { return first_of(kind, innermost_); }
    const stack_frame *next_of(const void *kind) const { return first_of(kind, outer_); }

  private:
    static const stack_frame *first_of(const void *kind, const stack_frame *from) {
        while (from != nullptr && from->kind_ != kind)
            from = from->outer_;
        return from;
    }

    static inline constinit TW_THREAD_LOCAL const stack_frame *innermost_ = nullptr;
    const void *kind_;
    const stack_frame *outer_;
};

template <class Frame> class on_stack : public stack_frame {
  protected:
    on_stack() : stack_frame(&kind) {}

    // The innermost of this thread for which is(frame). Null: there is none.
    template <class Is> static const Frame *find(Is is) {
        for (auto *each = static_cast<const on_stack *>(first_of(&kind)); each != nullptr;
             each = static_cast<const on_stack *>(each->next_of(&kind)))
            if (const auto &frame = static_cast<const Frame &>(*each); is(frame))
                return &frame;
        return nullptr;
    }

  private:
    static inline constinit char kind = 0;
};

}  // namespace tickwheel::runtime
