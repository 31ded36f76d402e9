// The parts that answer tickwheel-top: a server (inspect.cpp), its socket (inspect_socket.cpp), and its
// answers about the runtime (inspect_answer.cpp).
#pragma once

#include <sys/types.h>

#include "inspect_folder.hpp"
#include "inspect_request.hpp"
#include "runtime/state.hpp"

namespace tickwheel::observe {

// The path of a socket that this process has made, and the identity of its file.
struct socket_file {
    char path[inspect::longest_path + 1];  // empty: none
    dev_t device;
    ino_t inode;
};

// Makes a listening socket at `path`, or in the user's folder if `path` is null. Returns its descriptor, or
// a negative errno.
int open_listener(const char *path, socket_file &file);

// True if this socket was made at `path` and is still there.
bool is_at(const socket_file &file, const char *path);

// Removes the socket's file, unless another file has replaced it.
void remove_socket(socket_file &file);

// Accepts the next client. Returns its descriptor, -EAGAIN if no client waits, -EPERM if the client may not
// look and was refused, or another negative errno.
int accept_client(int listener);

// Room for the longest answer: 64 labels with their numbers and four histograms, or 64 timers with their
// labels. A label takes up to 64 bytes, each written as up to six characters.
inline constexpr std::size_t longest_answer = 48 << 10;

// Collects an answer.
struct answer {
    char text[longest_answer];
    std::size_t size;
    bool is_cut;  // the answer did not fit, and must not be sent
};

void answer_request(tw_runtime &rt, const inspect::request &asked, answer &to);

}  // namespace tickwheel::observe
