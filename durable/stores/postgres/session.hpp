// A connection to a PostgreSQL server that never waits for longer than its timeout. libpq's blocking calls
// wait for as long as the network does, so the session uses only the asynchronous ones.
#pragma once

#include <libpq-fe.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "values.hpp"

namespace tickwheel::durable::postgres {

class session {
  public:
    explicit session(std::int64_t timeout_ns) : timeout_ns_(timeout_ns) {}
    session(const session &) = delete;
    session &operator=(const session &) = delete;
    ~session() { PQfinish(connection_); }

    // Connects. If the address names several servers, each that does not answer gets an equal share of the
    // time. Returns 0, or an error of durable.h, which why() explains; -EOPNOTSUPP: through a pooler that
    // gives each transaction another connection.
    int open(const char *address);

    // Calls a statement by its number among the texts given to prepare_later. Returns 0 or an error of
    // durable.h.
    int call(std::size_t statement, parameters &with, rows &out);

    // The same with a text that is used once.
    int ask(const std::string &text, parameters &with, rows &out);

    // Like `ask`, for a large result: calls each(rows, row) for one row after the other. Stops when `each`
    // does not return 0, and returns that value.
    int ask_for_each(const std::string &text, parameters &with,
                     const std::function<int(const rows &, int)> &each);

    // Runs statements without parameters or results; as one transaction, unless they control transactions
    // themselves.
    int run(const std::string &statements);

    // Replaces the statements. Each is prepared at its first call.
    void prepare_later(std::vector<std::string> statements);

    // Reads the notifications that have arrived, without waiting, and calls each(payload) for every one from
    // another connection. -ENOTCONN: the server is gone.
    int read_notifications(const std::function<void(const char *)> &each);

    int descriptor() const { return PQsocket(connection_); }
    const std::string &why() const { return why_; }

    // True if the last call failed because another transaction holds a lock.
    bool met_lock() const { return met_lock_; }

    // Makes why() return this text: for an error that a later one has overwritten, or for the caller's own
    // error.
    void explain_by(std::string why) { why_ = std::move(why); }

    // For long queries: with true, the session waits for many times the timeout, and the server for any time.
    int be_patient(bool patient, bool with_locks = false);

    // In the child of a fork: closes the descriptor, and sends nothing.
    void abandon();

  private:
    int connect(const char *address);
    int connect_to(const char *address, const std::string &host, const std::string &hostaddr,
                   const std::string &port);
    int connect_in_time();
    int ask_backend(int &process);
    int check_pooler(const char *address);
    std::string server_limit(int percent_of_timeout) const;  // ms
    int run(const std::string &statements, rows &out);
    int prepare(std::size_t statement);
    int send(std::size_t statement, parameters &with);
    int send(const std::string &text, parameters &with);
    std::string name_of(std::size_t statement) const;
    int receive(rows &out);
    int receive_one(rows &out);
    int drop_rest();
    int send_all();
    int wait_for(short events);
    int broken(int error, const char *why);
    int failed(const PGresult *result);

    std::int64_t timeout_ns_;
    int patience_ = 1;
    std::int64_t wait_until_ = 0;
    PGconn *connection_ = nullptr;
    int backend_ = 0;  // the server's process
    std::vector<std::string> statements_;
    std::vector<bool> is_prepared_;
    unsigned generation_ = 0;  // of `statements_`; part of their names, as the server keeps the former ones
    std::string why_;
    bool met_lock_ = false;
};

}  // namespace tickwheel::durable::postgres
