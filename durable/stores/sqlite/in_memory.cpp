#include "in_memory.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <map>
#include <mutex>
#include <string_view>

namespace tickwheel::durable::sqlite {

namespace {

struct all_listeners {
    std::mutex mutex;
    std::multimap<std::string, int> of;  // their descriptors
};

// Never freed, so that a connection may outlive the end of main.
all_listeners &all() {
    static all_listeners &the = *new all_listeners;
    return the;
}

}  // namespace

// SQLite shares a database in memory only if its name begins with a slash. The process number is part of the
// name, because the child of a fork has a copy of its parent's databases, with their locks.
std::string name_in_memory(const std::string &path) {
    constexpr std::string_view prefix = ":memory:";
    if (!path.starts_with(prefix))
        return {};
    return "/tickwheel-" + std::to_string(getpid()) + '-' + path.substr(prefix.size());
}

void add_listener(const std::string &name, int descriptor) {
    const std::lock_guard lock(all().mutex);
    all().of.emplace(name, descriptor);
}

void remove_listener(const std::string &name, int descriptor) {
    const std::lock_guard lock(all().mutex);
    auto [each, end] = all().of.equal_range(name);
    while (each != end && each->second != descriptor)
        ++each;
    if (each != end)
        all().of.erase(each);
}

void wake_listeners(const std::string &name) {
    const std::lock_guard lock(all().mutex);
    for (auto [each, end] = all().of.equal_range(name); each != end; ++each)
        eventfd_write(each->second, 1);
}

}  // namespace tickwheel::durable::sqlite
