// A connection to the database that reopens after it has broken. Only one thread at a time may use it.
#pragma once

#include <cerrno>
#include <cstdint>
#include <string>

#include <tickwheel/durable_store.h>

#include "guard.hpp"

namespace tickwheel::durable {

// Shared by the connections of one tw_durable.
struct database {
    const tw_store *store;
    std::string address, schema;
    std::int64_t timeout_ns;
    std::string grant_to;  // empty: nobody
    bool must_exist;
    std::int64_t (*local_now)(void *);
    void *local_now_arg;
    bool local_is_virtual;
};

// True if the database cannot be reached. Any other error is the database's refusal.
inline bool is_loss(int error) { return error == -ENOTCONN || error == -ETIMEDOUT; }

class connection {
  public:
    explicit connection(const database &to) : to_(to) {}
    connection(const connection &) = delete;
    connection &operator=(const connection &) = delete;
    ~connection() { close(); }

    // Opens the connection unless it is open. Returns 0 or an error of durable.h, and notes why.
    int open();
    void close();
    bool is_open() const { return raw_ != nullptr; }

    // Calls question(store, connection), and opens the connection first if it is closed. Notes errors, and
    // closes the connection after an error that makes the connection useless.
    template <class Ask> std::int64_t ask(const Ask &question) {
        return guarded([&]() -> std::int64_t {
            if (const int error = open(); error != 0)
                return error;
            const std::int64_t result = question(*to_.store, raw_);
            return result < 0 ? failed(static_cast<int>(result)) : result;
        });
    }

    // Instead of `close`, in the child of a fork.
    void abandon();

  private:
    int failed(int error);

    const database &to_;
    void *raw_ = nullptr;
};

}  // namespace tickwheel::durable
