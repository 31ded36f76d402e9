// Why a call has failed, in words. Noted for the calling thread where it fails, and told by
// tw_durable_explain.
#pragma once

#include <cstddef>
#include <string>

namespace tickwheel::durable {

// Copies a text, as far as whole characters of it and a zero byte fit.
void copy_text(char *to, std::size_t room, const char *text) noexcept;

// Notes the reason, as far as it fits, and returns the error.
int refuse(int error, const char *why) noexcept;
int refuse(int error, const std::string &why) noexcept;

// What the last note says, if it was of this error; else what the library says of the error.
const char *explanation_of(int error);

// The note of this error, for those who report it elsewhere.
std::string noted(int error);

}  // namespace tickwheel::durable
