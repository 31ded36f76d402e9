// tickwheel/cplusplus.hpp - the headers in C++ want C++20. Where a compiler is told to speak
// an older one, this is the only line that it says of them: they are empty then.
#ifndef TICKWHEEL_CPLUSPLUS_HPP
#define TICKWHEEL_CPLUSPLUS_HPP

#if __cplusplus > 201703L
#define TICKWHEEL_CPLUSPLUS_20
#else
#error "tickwheel's headers in C++ want C++20: -std=c++20, or in CMake link with tickwheel::cpp"
#endif

#endif
