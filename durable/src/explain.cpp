#include "explain.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <tickwheel/durable.h>

namespace tickwheel::durable {

namespace {

struct note {
    int error = 0;
    char why[512] = "";
};
thread_local note last;

// Texts for errors whose texts in tw_explain do not fit a database; null for the others.
const char *meaning_of(int error) {
    switch (error) {
    case -ENOTCONN:
        return "the database cannot be reached";
    case -ETIMEDOUT:
        return "the database did not answer in time";
    case -EBUSY:
        return "the database is locked, or the call comes from a handler";
    case -EACCES:
        return "the database refuses this user";
    case -EROFS:
        return "the database is read-only";
    case -ENOSPC:
        return "the database has no space left";
    case -EBADMSG:
        return "the database is damaged, or is not a database";
    case -EPROTO:
        return "the tables are not those of this release";
    case -EIO:
        return "a database error";
    default:
        return nullptr;
    }
}

}  // namespace

void copy_text(char *to, std::size_t room, const char *text) noexcept {
    std::size_t size = std::min(std::strlen(text), room - 1);
    while (size > 0 && (text[size] & 0xc0) == 0x80)
        --size;  // do not cut within a character
    std::memmove(to, text, size);
    to[size] = 0;
}

int refuse(int error, const char *why) noexcept {
    last.error = error;
    copy_text(last.why, sizeof last.why, why);
    return error;
}

int refuse(int error, const std::string &why) noexcept { return refuse(error, why.c_str()); }

const char *explanation_of(int error) {
    if (error == last.error && last.why[0] != 0)
        return last.why;
    const char *const meaning = meaning_of(error);
    return meaning != nullptr ? meaning : tw_explain(error);
}

std::string noted(int error) { return explanation_of(error); }

}  // namespace tickwheel::durable
