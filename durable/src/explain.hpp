// Explains in words why a call failed. The code that fails notes an error and its reason, one note per
// thread; tw_durable_explain returns the reason.
#pragma once

#include <cstddef>
#include <string>

namespace tickwheel::durable {

// Copies as many whole characters of a text as fit into `room` bytes with a final zero byte.
void copy_text(char *to, std::size_t room, const char *text) noexcept;

// Notes an error and its reason, which may be cut, and returns the error.
int refuse(int error, const char *why) noexcept;
int refuse(int error, const std::string &why) noexcept;

// Returns the reason in this thread's note if the note is of this error, otherwise a general text for the
// error.
const char *explanation_of(int error);

// The same, as a copy for another thread.
std::string noted(int error);

}  // namespace tickwheel::durable
