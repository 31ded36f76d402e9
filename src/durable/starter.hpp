// Starts what is ready. The database is asked for each job whether it may be: that it was not removed or
// replaced, that its time has come by the database's own clock, and that the lease lasts. So many jobs at a
// time are asked for as have become ready meanwhile. While the database cannot be reached, the lease alone
// decides, unless the user wants it otherwise.
//
// It has a line of its own, so that a start does not wait for a claim or for answers to reach the disk.
#pragma once

#include "holding.hpp"
#include "line.hpp"
#include "pacer.hpp"

namespace tickwheel::durable {

class starter final : public agent {
  public:
    starter(const database &to, const settings &settings, const local_clock &clock, database_clock &database,
            const lease &lease, const std::atomic<bool> &is_connected, holding &jobs, counters &counts);

    std::int64_t step(std::int64_t now) override;
    void abandon() { line_.abandon(); }

  private:
    int ask(std::vector<tw_store_start> &questions, std::int64_t &now);
    std::vector<held_job *> apply(const std::vector<held_job *> &them,
                                  const std::vector<tw_store_start> &answers, std::int64_t now);
    bool go_on_alone(const std::vector<held_job *> &them);

    line line_;
    const settings &settings_;
    const local_clock clock_;
    database_clock &database_;
    const lease &lease_;
    const std::atomic<bool> &is_connected_;
    holding &jobs_;
    counters &counts_;
};

}  // namespace tickwheel::durable
