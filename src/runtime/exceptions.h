/* What callbacks throw, on its way through the library to somebody of the program's who
 * catches it: that is possible where the program drives the runtime. The library is C++
 * without exceptions, so that programs in C need no C++ runtime, and its destructors do not
 * run then. What has to be done all the same is done from here, the one file that is compiled
 * with exceptions: in C, where that takes libgcc only. */
#ifndef TICKWHEEL_SRC_RUNTIME_EXCEPTIONS_H
#define TICKWHEEL_SRC_RUNTIME_EXCEPTIONS_H

#ifdef __cplusplus
extern "C" {
#endif

/* Calls body(arg); and then left(arg) if an exception leaves it, which goes on after that. */
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
