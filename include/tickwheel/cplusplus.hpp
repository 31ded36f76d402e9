// tickwheel/cplusplus.hpp - checks that the C++ headers are compiled as C++20. With an older
// standard they are empty, so the error below is the only message.
#ifndef TICKWHEEL_CPLUSPLUS_HPP
#define TICKWHEEL_CPLUSPLUS_HPP

#if __cplusplus > 201703L
#define TICKWHEEL_CPLUSPLUS_20
#else
#error "tickwheel's C++ headers need C++20: compile with -std=c++20, or in CMake link with tickwheel::cpp"
#endif

#endif
