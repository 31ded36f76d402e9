/* Exceptions of callbacks, on their way through the library to the program's handler. That is possible
 * where the program drives the runtime (tw_runtime_dispatch, tw_runtime_advance).
 *
 * The library is C++ without exceptions, so that programs in C need no C++ runtime. An exception passes
 * through such code, but no destructor runs. What has to happen all the same (the fire is over, the
 * driving thread has left) is called from here: this is the one file that is compiled with exceptions, and
 * it is C, where the cleanup attribute needs no more than libgcc. */
#ifndef TICKWHEEL_SRC_RUNTIME_EXCEPTIONS_H
#define TICKWHEEL_SRC_RUNTIME_EXCEPTIONS_H

#ifdef __cplusplus
extern "C" {
#endif

/* Calls body(arg). If an exception leaves that, calls left(arg), and the exception goes on. */
void tw_passing_exceptions(void (*body)(void *), void (*left)(void *), void *arg);

#ifdef __cplusplus
}

namespace tickwheel::runtime {

template <class Body, class Left> void passing_exceptions(Body body, Left left) {
    struct both {
        Body &body;
        Left &left;
    } it = {body, left};
    tw_passing_exceptions([](void *arg) { static_cast<both *>(arg)->body(); },
                          [](void *arg) { static_cast<both *>(arg)->left(); }, &it);
}

}  // namespace tickwheel::runtime
#endif

#endif
