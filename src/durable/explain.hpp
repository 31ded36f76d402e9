// Why a call has failed, in words. Noted for the calling thread where it fails, and told by
// tw_durable_explain.
#pragma once

#include <string>

namespace tickwheel::durable {

// Notes the reason and returns the error.
int refuse(int error, const char *why);
int refuse(int error, std::string &&why);

// What the last note says, if it was of this error; else what the library says of the error.
const char *explanation_of(int error);

// The note of this error, for those who report it elsewhere.
std::string noted(int error);

}  // namespace tickwheel::durable
