// A cluster on virtual time: processes, each on a runtime with a clock of its own, and one database.
//
// There is one true time, which nobody can read. The database's clock is that time, plus what an
// administrator has set it by. A process has a steady clock that began at some other reading and runs a
// little too fast or too slow. The world goes from one event to the next: to the earliest deadline of all
// runtimes. So a process that calls the database does it at the very time that both clocks show.
//
// A process has one thread. While that is in a handler that takes time, the rest of the world goes on, and
// the process does not: it is stalled, finds out afterwards that its clock has leapt, and may have lost its
// lease. A pause is the same without a handler.
#pragma once

#include <cstdarg>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <tickwheel/durable_store.h>

#include "support/random.h"

namespace tickwheel::durable::tests {

inline constexpr std::int64_t ms = 1'000'000, second = 1'000'000'000, minute = 60 * second,
                              hour = 60 * minute, day = 24 * hour;

// What a simulation is like.
struct scenario {
    const char *name;
    std::int64_t length;
    unsigned processes;
    std::int64_t lease, poll, horizon;
    std::uint32_t hold;
    bool confirmed_only;
    std::int64_t between_acts;    // of users; on average
    std::int64_t between_faults;  // 0: none
    unsigned broken_calls;        // of a million
    std::int64_t longest_delay;   // until a job is due, and of its period
    bool sets_clock;
};

struct process {
    unsigned number = 0;
    std::int64_t began_at = 0, skew = 0, drift_ppm = 0;
    tw_runtime *rt = nullptr;
    tw_durable *jobs = nullptr;

    bool is_dead = false;     // has crashed: nothing of it reaches the database any more
    bool is_stalled = false;  // it is in a turn of its own, further down this stack
    std::int64_t paused_until = 0, cut_off_until = 0;
    std::int64_t faulted_at = -day;  // when something last went wrong with it

    // As the database has it.
    std::int64_t member = 0, lease_end = 0, renewed_at = 0;
    std::unordered_map<std::int64_t, std::int64_t>
        started;  // tokens of jobs that it was allowed to start, and when

    bool took_effect = false;  // the last call that changes jobs was carried out, whatever it returned
};

// A claim that the network has kept back.
struct late_claim {
    std::int64_t at;
    tw_store_member member;
    std::vector<std::string> kinds;
    std::int64_t horizon;
    std::size_t limit;
};

class world;

// Something that happens at a time of the script's choosing.
class script {
  public:
    virtual void act() = 0;
    virtual std::int64_t next() const = 0;
    virtual enum tw_durable_answer handle(process &by, tw_durable_fire &fire) = 0;
    virtual void put_kinds(process &to) = 0;

  protected:
    ~script() = default;
};

class world {
  public:
    world(const scenario &what, std::uint64_t seed_of_all);
    world(const world &) = delete;
    world &operator=(const world &) = delete;
    ~world();

    void run_until(std::int64_t time, script &by);

    std::int64_t now() const { return now_; }
    std::int64_t database_now() const { return now_ + database_offset_; }
    std::int64_t local_now(const process &of) const { return local_at(of, now_); }
    std::uint64_t random(std::uint64_t bound) { return random_below(&seed, bound); }
    bool chance(unsigned of_a_million) { return random(1'000'000) < of_a_million; }
    std::int64_t random_time(std::int64_t most);

    process &begin_process(script &by);
    void crash(process &it);
    void bury_crashed();
    bool is_usable(const process &it) const {
        return !it.is_dead && !it.is_stalled && it.paused_until <= now_;
    }
    process *random_process();
    void turn(process &it);  // its clock goes on to the present, and what is due fires
    void set_clock(std::int64_t by);
    void fault(process &it) { it.faulted_at = last_fault_at = now_; }
    void end_faults();
    bool reaches(const process &it) const;

    // Prints what happens, if that is wanted.
    [[gnu::format(printf, 2, 3)]] void tell(const char *format, ...) const;
    // Prints what is wrong, and ends the program.
    [[noreturn, gnu::format(printf, 2, 3)]] void fail(const char *format, ...) const;

    const scenario what;
    std::uint64_t seed;
    const std::uint64_t first_seed;
    std::vector<std::unique_ptr<process>> processes;  // those of former times, too
    std::vector<late_claim> late_claims;
    std::int64_t outage_until = 0;
    std::int64_t clock_set_at = -day, last_fault_at = -day;
    bool has_faults = false;
    std::map<std::string, unsigned> tries;  // starts of a job that were allowed since its handler last began
    unsigned depth = 0;                     // of handlers that take time
    void *observer = nullptr;               // a connection with the database that nothing befalls
    std::uint64_t calls = 0, broken = 0;

  private:
    std::int64_t local_at(const process &of, std::int64_t time) const;
    std::int64_t true_time(const process &of, std::int64_t local) const;
    std::int64_t next_of(const process &it) const;
    void carry_out_late_claims();

    std::vector<process *> living_;
    std::int64_t now_ = 0;
    std::int64_t database_offset_;
    bool is_told_ = false;
};

// The world of this moment, for the store.
extern world *the_world;

// A store whose connections break as the world has it.
const tw_store &faulty_store();

}  // namespace tickwheel::durable::tests
