/* Lets the exceptions of callbacks pass through the library to the program's handler, where the program
 * drives the runtime (tw_runtime_run, _dispatch, _advance and _leap).
 *
 * The library is C++ without exceptions, so that programs in C need no C++ runtime. An exception passes
 * through such code, but no destructor runs. exceptions.c makes the calls that must happen all the same (the
 * fire is over, the driving thread has left). It is the only file compiled with exceptions, and it is C,
 * where the cleanup attribute needs only libgcc. */
#ifndef TICKWHEEL_SRC_BASE_EXCEPTIONS_H
#define TICKWHEEL_SRC_BASE_EXCEPTIONS_H

#ifdef __cplusplus
extern "C" {
#endif

/* Calls body(arg). If an exception leaves body, calls left(arg), and the exception continues. */
void tw_passing_exceptions(void (*body)(void *), void (*left)(void *), void *arg);

#ifdef __cplusplus
}

namespace tickwheel::base {

template <class Body, class Left> void passing_exceptions(Body body, Left left) {
    struct both {
        Body &body;
        Left &left;
    } functions = {body, left};
    tw_passing_exceptions([](void *arg) { static_cast<both *>(arg)->body(); },
                          [](void *arg) { static_cast<both *>(arg)->left(); }, &functions);
}

}  // namespace tickwheel::base
#endif

#endif
