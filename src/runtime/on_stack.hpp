// The frames that a thread is currently in, innermost first: callbacks, workers' runs, calls that call the
// user back. So a deep call can ask what it was called from. Each thread knows only its own frames.
#pragma once

#include <features.h>

// Thread-local data that exists from the start of a thread, even if the program loaded the library with
// dlopen; in the default model a thread's first access might allocate it (P10). It takes a few words of the
// space that glibc reserves for libraries loaded late.
#ifdef __GLIBC__
#define TW_THREAD_LOCAL __attribute__((tls_model("initial-exec"))) thread_local
#else
#define TW_THREAD_LOCAL thread_local
#endif

namespace tickwheel::runtime {

// A kind of frame derives from on_stack<Kind>. The frame is a local variable that lives as long as the thread
// is in it.
class stack_frame {
  public:
    stack_frame(const stack_frame &) = delete;
    stack_frame &operator=(const stack_frame &) = delete;

    // Does the destructor's work when an exception passes, because the destructor does not run then
    // (exceptions.h). Also ends the frames inside this one.
    void leave() const { innermost_ = outer_; }

    // Ends only the frames inside this one.
    void end_inner() const { innermost_ = this; }

  protected:
    explicit stack_frame(const void *kind) : kind_(kind), outer_(innermost_) { innermost_ = this; }
    ~stack_frame() { leave(); }

    // The thread's innermost frame of this kind; and the next one outside this frame.
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

    // The thread's innermost frame for which is(frame) is true; null if none.
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
