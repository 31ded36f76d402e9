#include "explain.hpp"

#include <cerrno>
#include <utility>

#include <tickwheel/durable.h>

namespace tickwheel::durable {

namespace {

struct note {
    int error = 0;
    std::string why;
};
thread_local note last;

// What the library's own texts do not say rightly of a database.
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
        return "the database can only be read";
    case -ENOSPC:
        return "the database has no room left";
    case -EBADMSG:
        return "the database is damaged, or no database";
    case -EPROTO:
        return "the tables are not those of this release";
    case -EIO:
        return "an error of the database";
    default:
        return nullptr;
    }
}

}  // namespace

int refuse(int error, std::string &&why) {
    last.error = error;
    last.why = std::move(why);
    return error;
}

int refuse(int error, const char *why) { return refuse(error, std::string(why)); }

const char *explanation_of(int error) {
    if (error == last.error && !last.why.empty())
        return last.why.c_str();
    const char *const meaning = meaning_of(error);
    return meaning != nullptr ? meaning : tw_strerror(error);
}

std::string noted(int error) { return explanation_of(error); }

}  // namespace tickwheel::durable
