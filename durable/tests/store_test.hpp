// Helpers for the suite that every store must pass.
//
// Each test begins with empty tables, and the connection `to`, through which the member `who` has joined.
// Time is that of the database's clock: `pass` waits until that clock has advanced. Stores without a clock of
// their own use the local clock, which `wait_until` advances.
#pragma once

#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tickwheel/durable_store.h>

// After those of C++, because CMocka defines `fail`.
#include "support/sanitized.h"
#include "support/test.h"

// The store under test. The program defines it.
const tw_store *store_for_tests(const char *address);

namespace tickwheel::durable::tests {

inline constexpr std::int64_t us = 1000, ms = 1'000'000, second = 1'000'000'000, minute = 60 * second;

// A copy of an entry that the store has passed to a visitor.
struct seen {
    std::string kind, key, payload;
    tw_durable_job job{};  // its texts and payload are above and below
    std::optional<std::string> cron, zone, holder, error, group, waits_for;
    tw_durable_state state = TW_DURABLE_PENDING;
    std::int64_t ready = 0, token = 0, row = 0, holder_id = 0;
    std::uint32_t attempts = 0;
};

// A job that a change has selected, as it was before, and what the store says of it.
struct changed_job {
    seen job;
    int changed;
};

class connection {
  public:
    // The second constructor leaves the connection closed, until `open`.
    connection() { open(); }
    explicit connection(std::nullptr_t) {}
    connection(const connection &) = delete;
    connection &operator=(const connection &) = delete;
    ~connection() { close(); }

    void open();
    void close();

    // Returns 0; or the error, and stores why.
    static int try_to_open(bool must_exist, void *&raw, std::string &why);

    void *raw() { return raw_; }
    std::int64_t now();

    // --- jobs
    int put(const tw_durable_job &job,
            bool keep = false);  // returns `existed`, which counts only with `keep`
    int put(const std::string &kind, const std::string &key, std::int64_t delay = 0);
    int put_keep(const std::string &kind, const std::string &key, std::int64_t delay = 0);
    std::vector<int> put_many(const std::vector<tw_durable_job> &jobs, bool keep = false);
    std::vector<tw_store_put> put_held(const std::vector<tw_durable_job> &jobs, const tw_store_member &member,
                                       bool keep = false);
    tw_store_put put_held(const tw_durable_job &job, const tw_store_member &member, bool keep = false);
    int remove(const std::string &kind, const std::string &key);
    std::int64_t requeue(const char *kind = nullptr, const char *key = nullptr);
    // Returns how many jobs have changed, and stores all that were selected in `all`.
    std::int64_t change(const tw_durable_filter &filter, tw_store_change what, const char *key = nullptr,
                        std::vector<changed_job> *all = nullptr);
    std::vector<seen> list(const tw_durable_filter &filter = {});
    std::int64_t count(const tw_durable_filter &filter = {});
    std::optional<seen> get(const std::string &kind, const std::string &key);
    tw_durable_state state_of(const std::string &kind, const std::string &key);

    // --- members
    tw_store_member join(const char *name = "a member", std::int64_t lease = 10 * minute);
    int renew(const tw_store_member &member, std::int64_t lease = 10 * minute);
    int resume(tw_store_member &member, std::vector<seen> *held = nullptr,
               const std::vector<std::int64_t> &running = {});
    int leave(const tw_store_member &member);
    std::int64_t bury(std::size_t limit = 1000);

    // Shortens the member's lease, and returns when it has ended.
    void end_lease(const tw_store_member &member);

    // --- holding
    std::vector<seen> claim(const tw_store_member &member, const std::vector<const char *> &kinds,
                            std::int64_t horizon = 0, std::size_t limit = 1000);
    int try_claim(const tw_store_member &member, const std::vector<const char *> &kinds,
                  std::int64_t horizon = 0, std::size_t limit = 1000, std::vector<seen> *claimed = nullptr,
                  std::int64_t from = 0);
    // Claims with limits, which are those of `limits`, and so is `from_ns`. The first must succeed.
    std::vector<seen> claim_within(const tw_store_claim &limits, const tw_store_member &member,
                                   const char *kind, std::size_t limit = 1000);
    int try_claim_within(tw_store_claim limits, const tw_store_member &member, const char *kind,
                         std::size_t limit, std::vector<seen> &claimed);
    const tw_store_look &look() const { return look_; }  // of the last claim
    bool has_dead() const { return look_.lease_end_ns <= look_.now_ns; }
    tw_store_start start(const tw_store_member &member, const seen &held);
    int settle(const tw_store_member &member, tw_store_outcome outcome);  // returns `matched`

    // --- notifications
    bool listens();
    std::optional<std::int64_t> notification(std::int64_t patience);  // ready_ns, if a notification comes

  private:
    void *raw_ = nullptr;
    tw_store_look look_{};
};

const tw_store &store();

// The connection of each test, and its member, with a lease of an hour.
inline connection to(nullptr);
inline tw_store_member who;

// Waits until the database's clock has advanced by this much.
void pass(std::int64_t ns);

// Waits until the condition holds, half a minute at most. Advances the local clock meanwhile.
void wait_until(const std::function<bool()> &condition);

tw_durable_job job_of(const char *kind, const char *key, std::int64_t delay = 0);

// The result points to the names in `held`.
tw_store_outcome outcome_of(const seen &held, tw_store_outcome_kind what);
std::vector<std::string> keys_of(const std::vector<seen> &entries);

// The time of the first job in the notifications that have arrived.
std::optional<std::int64_t> first_notified(const tw_store &of, void *raw);

// Connections that are opened from now on have tables in a schema that no test has used.
void name_schema();

int begin_test(void **state);
int end_test(void **state);

}  // namespace tickwheel::durable::tests
