// Serializes the user's calls over one database connection, and batches concurrent puts into one transaction.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

#include "connection.hpp"
#include "lease.hpp"

namespace tickwheel::durable {

class put_queue {
  public:
    explicit put_queue(const database &to) : connection_(to) {}

    // Like connection::ask, but first waits for the connection. -EDEADLK: this thread is already in a call on
    // this queue, for example in a visitor.
    template <class Ask> std::int64_t ask(const Ask &question) {
        const turn mine(*this);
        return mine.is_refused() ? refuse_nested() : connection_.ask(question);
    }

    // From then on, puts with `hold` claim their jobs for the member of this lease.
    void serve(const lease &whose) { lease_ = &whose; }

    // Puts all of these jobs or none. Stores in `whom` the member for which the puts with `hold` claim jobs.
    int put(std::vector<tw_store_put> &puts, bool keep, tw_store_member &whom);

    int open() { return connection_.open(); }
    bool is_in_use_by_this_thread() const;
    void abandon() { connection_.abandon(); }

  private:
    struct request {
        std::vector<tw_store_put> &puts;
        bool keep;
        tw_store_member &whom;
        bool is_done = false;
        int error = 0;
        std::string why;
    };

    // While a turn exists, its thread has the connection to itself.
    class turn {
      public:
        explicit turn(put_queue &whose);
        turn(const turn &) = delete;
        turn &operator=(const turn &) = delete;
        ~turn();
        bool is_refused() const { return is_refused_; }

      private:
        friend class put_queue;

        // The innermost turn of this thread. A visitor may call another connection, so a thread may be in the
        // turns of several queues.
        static thread_local const turn *innermost;

        put_queue &whose_;
        const turn *former_ = nullptr;
        bool is_refused_;
    };

    static int refuse_nested();
    static void hold_last_of_each_name(std::vector<tw_store_put> &puts);
    void put_together();
    int send(std::vector<tw_store_put> &puts, bool keep, tw_store_member &whom);

    connection connection_;
    const lease *lease_ = nullptr;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool is_busy_ = false;
    std::vector<request *> waiting_;
};

}  // namespace tickwheel::durable
