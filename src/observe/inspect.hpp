// The parts of what answers tickwheel-top: a server (inspect.cpp), its socket (inspect_socket.cpp), and what
// it says of the runtime (inspect_answer.cpp).
#pragma once

#include <sys/types.h>

#include "inspect_folder.hpp"
#include "inspect_request.hpp"
#include "runtime/state.hpp"

namespace tickwheel::observe {

// The name of a socket that this process has made, and the file that it was then.
struct socket_file {
    char path[inspect::longest_path + 1];  // empty: none
    dev_t device;
    ino_t inode;
};

// Makes a socket that listens, where `path` says or in the user's folder. Its descriptor, or a negative
// errno.
int open_listener(const char *path, socket_file &file);

// True if the socket was made at this path and is still there.
bool is_at(const socket_file &file, const char *path);

// Removes the file, if it is still that one.
void remove_socket(socket_file &file);

// The next client that waits, if it may look: its descriptor; -EAGAIN if there is none, -EPERM if it was
// refused, or another negative errno.
int accept_client(int listener);

// The longest answer: 64 labels of up to 64 bytes, each byte of up to seven characters, with their numbers;
// or as many timers; and four histograms.
inline constexpr std::size_t longest_answer = 48 << 10;

// Collects an answer.
struct answer {
    char text[longest_answer];
    std::size_t size;
    bool is_cut;  // it did not fit, and is not to be sent
};

void answer_request(tw_runtime &rt, const inspect::request &asked, answer &to);

}  // namespace tickwheel::observe
