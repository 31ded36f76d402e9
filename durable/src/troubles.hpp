// The present errors of the two agents, the membership and the dispatcher. The membership reports them to the
// user.
#pragma once

#include <mutex>

#include "explain.hpp"
#include "settings.hpp"

namespace tickwheel::durable {

enum class agent_name { membership, dispatcher };

struct trouble {
    int error = 0;              // 0: the agent's last step succeeded
    char why[256] = "";         // the agent's last error in words, also when it is over
    std::int64_t since_ns = 0;  // when the agent's requests began to fail, by the machine's time of day
};

class troubles {
  public:
    // Records the result of an agent's last step: 0, or an error whose reason this thread has noted. Returns
    // true if the result has changed.
    bool note(agent_name by, int error) {
        const std::lock_guard hold(mutex_);
        trouble &its = by == agent_name::membership ? of_membership_ : of_dispatcher_;
        const bool is_other = its.error != error;
        if (its.error == 0 && error != 0)
            its.since_ns = time_of_day();
        its.error = error;
        if (error == 0)
            return is_other;
        copy_text(its.why, sizeof its.why, explanation_of(error));
        latest_ = &its;
        return is_other;
    }

    // Returns the membership's error, or else the dispatcher's. If there is none, `why` is that of the latest
    // error.
    trouble now() const {
        const std::lock_guard hold(mutex_);
        return of_membership_.error != 0   ? of_membership_
               : of_dispatcher_.error != 0 ? of_dispatcher_
                                           : *latest_;
    }

  private:
    mutable std::mutex mutex_;
    trouble of_membership_, of_dispatcher_;
    const trouble *latest_ = &of_membership_;
};

}  // namespace tickwheel::durable
