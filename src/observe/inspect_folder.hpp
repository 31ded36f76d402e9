// The folder with the sockets of a user's programs: the library makes the sockets there, and tickwheel-top
// finds them. This file includes no other header of the library.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace tickwheel::observe::inspect {

inline constexpr unsigned longest_path = 107;  // of a socket
struct folder_path {
    char text[longest_path + 1];
};

// 0 if only this user can enter the folder, else a negative errno. Does not follow links.
inline int check_private(const char *folder) {
    struct stat status;
    if (::lstat(folder, &status) != 0)
        return -errno;
    if (!S_ISDIR(status.st_mode))
        return -ENOTDIR;
    return status.st_uid == ::geteuid() && (status.st_mode & 077) == 0 ? 0 : -EPERM;
}

// Stores the path of the folder, which need not exist. Returns 0 or -ENAMETOOLONG. A program with more rights
// than its user ignores the user's environment.
inline int name_folder(folder_path &path) {
    const char *const of_session = ::secure_getenv("XDG_RUNTIME_DIR");
    const int length = of_session != nullptr && *of_session == '/'
                           ? std::snprintf(path.text, sizeof path.text, "%s/tickwheel", of_session)
                           : std::snprintf(path.text, sizeof path.text, "/tmp/tickwheel-%u", ::geteuid());
    return length >= 0 && static_cast<unsigned>(length) <= longest_path ? 0 : -ENAMETOOLONG;
}

}  // namespace tickwheel::observe::inspect
