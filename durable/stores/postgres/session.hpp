// A connection with a PostgreSQL server that never waits for longer than it was told. libpq's own calls wait
// for as long as the network does, so everything here is sent and received by its asynchronous ones.
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

    // Connects. 0 or an error of durable.h; why() explains it.
    int open(const char *address);

    // Calls a statement, which is one of the texts that prepare_later was given, by its number. Returns 0 or
    // an error of durable.h.
    int call(std::size_t statement, parameters &with, rows &out);

    // The same for a result that may be large: calls each(rows, row) with one row after the other. Stops when
    // that does not return 0, and returns it.
    int call_for_each(std::size_t statement, parameters &with,
                      const std::function<int(const rows &, int)> &each);

    // Runs statements without parameters or results; as one transaction, if they do not say otherwise.
    int run(const std::string &statements);

    // Statements that are prepared when they are first called; instead of those before.
    void prepare_later(std::vector<std::string> statements);

    // Reads what has arrived, without waiting, and calls each(payload) on every notification that another
    // connection has sent. -ENOTCONN: the server is gone.
    int read_notifications(const std::function<void(const char *)> &each);

    int descriptor() const { return PQsocket(connection_); }
    const std::string &why() const { return why_; }

    // The last call failed because of a lock that another transaction holds.
    bool met_lock() const { return met_lock_; }

    // Has why() say this, of an error that another has followed or that is the caller's own.
    void explain_by(std::string why) { why_ = std::move(why); }

    // The answers to a long question may take many times as long.
    int be_patient(bool patient);

    // In the child of a fork: closes the descriptor, and sends nothing.
    void abandon();

  private:
    int connect_in_time();
    std::string server_limit(int percent_of_timeout) const;  // ms
    int prepare(std::size_t statement);
    int send(std::size_t statement, parameters &with);
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
    std::vector<std::string> statements_;
    std::vector<bool> is_prepared_;
    unsigned generation_ = 0;  // of statements: the server keeps the names of the former
    std::string why_;
    bool met_lock_ = false;
};

}  // namespace tickwheel::durable::postgres
