// Explains in words why a call failed. The failing code notes the reason for the calling thread;
// tw_durable_explain returns it.
#pragma once

#include <cstddef>
#include <string>

namespace tickwheel::durable {

// Copies as many whole characters of a text as fit with a zero byte.
void copy_text(char *to, std::size_t room, const char *text) noexcept;

// Notes the reason, as far as it fits, and returns the error.
int refuse(int error, const char *why) noexcept;
int refuse(int error, const std::string &why) noexcept;

// The last note if it belongs to this error, otherwise the library's text for the error.
const char *explanation_of(int error);

// A copy of the note of this error, for another thread to report.
std::string noted(int error);

}  // namespace tickwheel::durable
