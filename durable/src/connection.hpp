// A connection with the database that is opened again after it has broken. Used by one thread at a
// time.
#pragma once

#include <cerrno>
#include <cstdint>
#include <string>

#include <tickwheel/durable_store.h>

#include "guard.hpp"

namespace tickwheel::durable {

// What the connections of one tw_durable have in common.
struct database {
    const tw_store *store;
    std::string address, schema;
    std::int64_t timeout_ns;
    bool must_exist;
    std::int64_t (*local_now)(void *);
    void *local_now_arg;
    bool local_is_virtual;
};

// True if the database cannot be reached. Otherwise the database refuses what it was asked.
inline bool is_loss(int error) { return error == -ENOTCONN || error == -ETIMEDOUT; }

class connection {
  public:
    explicit connection(const database &to) : to_(to) {}
    connection(const connection &) = delete;
    connection &operator=(const connection &) = delete;
    ~connection() { close(); }

    // Opens the connection unless it is open. 0 or an error of durable.h, with a note of why.
    int open();
    void close();
    bool is_open() const { return raw_ != nullptr; }

    // Asks: calls ask(store, connection), on a connection that is opened first if need be. Errors are noted,
    // and those after which the connection is of no use close it.
    template <class Ask> std::int64_t ask(const Ask &question) {
        return guarded([&]() -> std::int64_t {
            if (const int error = open(); error != 0)
                return error;
            const std::int64_t result = question(*to_.store, raw_);
            return result < 0 ? failed(static_cast<int>(result)) : result;
        });
    }

    // In the child of a fork.
    void abandon();

  private:
    int failed(int error);

    const database &to_;
    void *raw_ = nullptr;
};

}  // namespace tickwheel::durable
