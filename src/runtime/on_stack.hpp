// The frames that a thread is in at the moment, innermost first: callbacks, runs of workers, calls that
// call back. A deep call can so ask what it is called from. Each thread knows its own frames only.
#pragma once

#include <features.h>

// Thread-local data that are there from a thread's beginning, even if the library was loaded by dlopen;
// in the default model, the first access of a thread might allocate them (P10). They take a few words
// of the reserve that glibc has for libraries that are loaded late.
#ifdef __GLIBC__
#define TW_THREAD_LOCAL __attribute__((tls_model("initial-exec"))) thread_local
#else
#define TW_THREAD_LOCAL thread_local
#endif

namespace tickwheel::runtime {

// A kind of frame derives from on_stack<Kind>. It is a local variable, for as long as the thread is in it.
class stack_frame {
  public:
    stack_frame(const stack_frame &) = delete;
    stack_frame &operator=(const stack_frame &) = delete;

    // Does the destructor's work if an exception passes, because then the destructor does not run
    // (exceptions.h). Ends the frames inside this one, too.
    void leave() const { innermost_ = outer_; }

    // Ends the frames inside this one alone.
    void end_inner() const { innermost_ = this; }

  protected:
    explicit stack_frame(const void *kind) : kind_(kind), outer_(innermost_) { innermost_ = this; }
    ~stack_frame() { leave(); }

    // The innermost frame of this kind that the thread is in; and the next one outside of this.
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

    // The innermost frame of the thread for which is(frame) is true; null if there is none.
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
