// A connection with a database in memory, and the functions of the store that concern members.
#pragma once

#include <cerrno>
#include <mutex>
#include <new>
#include <string>
#include <utility>

#include "memory_database.hpp"
#include "memory_times.hpp"

namespace memory {

struct connection {
    database *base = nullptr;
    std::string name;
    std::int64_t (*local_now)(void *) = nullptr;
    void *local_now_arg = nullptr;
    listener listening;
    int error = 0;

    [[nodiscard]] std::int64_t now() const { return microsecond_before(local_now(local_now_arg)); }
};

// Calls a function of the store with the database locked. A function that runs out of memory has changed
// nothing.
template <typename F> auto locked(void *of, F body) -> decltype(body(std::declval<connection &>())) {
    auto &self = *static_cast<connection *>(of);
    try {
        const std::lock_guard lock(self.base->mutex);
        const auto result = body(self);
        self.error = result < 0 ? static_cast<int>(result) : 0;
        return result;
    } catch (const std::bad_alloc &) {
        self.error = -ENOMEM;
        return -ENOMEM;
    }
}

// The functions of tw_store with these names.
int join(void *of, const char *name, std::int64_t lease_ns, tw_store_member *out);
int renew(void *of, const tw_store_member *who, std::int64_t lease_ns, std::int64_t *now_ns);
int resume(void *of, tw_store_member *who, const std::int64_t *started, std::size_t count,
           tw_store_visitor *each, void *arg);
int leave(void *of, const tw_store_member *who);
std::int64_t bury(void *of, std::size_t limit);
int claim(void *of, const tw_store_claim *request, tw_store_taker *each, void *arg, tw_store_look *look);
int start(void *of, const tw_store_member *who, tw_store_start *starts, std::size_t count,
          std::int64_t *now_ns);
int announce(void *of, const tw_store_member *who, const char *const *kinds, std::size_t count,
             std::int64_t clock_offset_ns);
int members(void *of, tw_durable_member_visitor *each, void *arg);
int settle(void *of, const tw_store_member *who, tw_store_outcome *outcomes, std::size_t count);

}  // namespace memory
