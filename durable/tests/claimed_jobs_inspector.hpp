// Checks the invariants of src/claimed_jobs.hpp, between two steps of a process with `single_thread`.
#pragma once

#include <algorithm>

#include "src/tw_durable.hpp"

namespace tickwheel::durable::tests {

class claimed_jobs_inspector {
  public:
    // Returns the invariant that does not hold, or null.
    static const char *broken_invariant(const claimed_jobs &of) {
        const std::lock_guard hold(of.mutex_);
        return broken_places(of)                         ? "H1"
               : broken_owners(of)                       ? "H2"
               : broken_names(of)                        ? "H3"
               : broken_runners(of)                      ? "H4"
               : broken_room(of)                         ? "H5"
               : of.locked_answers_ > of.answers_.size() ? "H6"
                                                         : nullptr;
    }

  private:
    static std::size_t count(const claimed_jobs &of, stage at) {
        const auto is_there = [at](const auto &each) { return each.second->at == at; };
        return static_cast<std::size_t>(std::count_if(of.jobs_.begin(), of.jobs_.end(), is_there));
    }

    static bool is_held(const claimed_jobs &of, const claimed_job *which) {
        return std::any_of(of.jobs_.begin(), of.jobs_.end(),
                           [which](const auto &each) { return each.second.get() == which; });
    }

    static bool broken_list(const claimed_jobs &of, const std::vector<claimed_job *> &list, stage at) {
        const auto is_out_of_place = [&](const claimed_job *each) {
            return !is_held(of, each) || each->at != at || each->is_forgotten;
        };
        return std::any_of(list.begin(), list.end(), is_out_of_place) || count(of, at) != list.size();
    }

    // Between two steps a forgotten job can only be on the wheel or queued.
    static bool broken_owners(const claimed_jobs &of) {
        return std::any_of(of.jobs_.begin(), of.jobs_.end(), [](const auto &each) {
            const claimed_job &job = *each.second;
            return job.is_forgotten && job.at != stage::waiting && job.at != stage::queued;
        });
    }

    // Between two steps no job is confirming.
    static bool broken_places(const claimed_jobs &of) {
        if (broken_list(of, of.ready_, stage::ready) || broken_list(of, of.aside_, stage::aside))
            return true;
        std::size_t queued = 0;
        for (const claimed_job *each = of.queue_; each != nullptr; each = each->next, ++queued)
            if (!is_held(of, each) || each->at != stage::queued)
                return true;
        return count(of, stage::confirming) != 0 || count(of, stage::queued) != queued ||
               count(of, stage::unanswered) != of.unanswered_ ||
               queued + count(of, stage::running) != of.started_;
    }

    static bool broken_names(const claimed_jobs &of) {
        return std::any_of(of.newest_.begin(), of.newest_.end(), [&](const claimed_job *newest) {
            return !is_held(of, newest) ||
                   std::any_of(of.jobs_.begin(), of.jobs_.end(), [newest](const auto &each) {
                       return each.second->token > newest->token && each.second->kind == newest->kind &&
                              each.second->key == newest->key;
                   });
        });
    }

    static bool broken_runners(const claimed_jobs &of) {
        const auto is_awake = [](const auto &each) { return each.is_awake; };
        return of.queue_ != nullptr && !of.has_ended_ &&
               std::none_of(of.runners_.begin(), of.runners_.end(), is_awake);
    }

    static bool broken_room(const claimed_jobs &of) {
        return of.ready_.capacity() < of.jobs_.size() || of.aside_.capacity() < of.jobs_.size() ||
               of.answers_.capacity() < of.jobs_.size() + of.answers_.size() + of.taken_answers_.size();
    }
};

}  // namespace tickwheel::durable::tests
