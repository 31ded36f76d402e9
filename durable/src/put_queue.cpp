#include "put_queue.hpp"

#include <algorithm>
#include <cerrno>
#include <new>
#include <string>
#include <unordered_set>
#include <utility>

#include "explain.hpp"
#include "job_name.hpp"

namespace tickwheel::durable {

namespace {

// A larger batch would not make a put cheaper, and all callers in a batch wait for the whole batch.
constexpr std::size_t most_together = 1000;

bool holds_any(const std::vector<tw_store_put> &puts) {
    return std::any_of(puts.begin(), puts.end(), [](const tw_store_put &put) { return put.hold != 0; });
}

}  // namespace

thread_local const put_queue::turn *put_queue::turn::innermost = nullptr;

put_queue::turn::turn(put_queue &whose) : whose_(whose), is_refused_(whose.is_in_use_by_this_thread()) {
    if (is_refused_)
        return;
    std::unique_lock hold(whose_.mutex_);
    whose_.changed_.wait(hold, [&] { return !whose_.is_busy_; });
    whose_.is_busy_ = true;
    former_ = std::exchange(innermost, this);
}

put_queue::turn::~turn() {
    if (is_refused_)
        return;
    innermost = former_;
    {
        const std::lock_guard hold(whose_.mutex_);
        whose_.is_busy_ = false;
    }
    whose_.changed_.notify_all();
}

bool put_queue::is_in_use_by_this_thread() const {
    for (const turn *outer = turn::innermost; outer != nullptr; outer = outer->former_)
        if (&outer->whose_ == this)
            return true;
    return false;
}

int put_queue::refuse_nested() { return refuse(-EDEADLK, "called by a visitor of the same connection"); }

int put_queue::send(std::vector<tw_store_put> &puts, bool keep, tw_store_member &whom) {
    whom = lease_ != nullptr && holds_any(puts) ? lease_->member() : tw_store_member{};
    return static_cast<int>(connection_.ask([&](const tw_store &store, void *connection) {
        return store.put(connection, puts.data(), puts.size(), keep ? 1 : 0, whom.id != 0 ? &whom : nullptr);
    }));
}

// Of several puts of one name, lets only the last hold its job. An earlier put with `hold` could start a job
// that the next put replaces.
void put_queue::hold_last_of_each_name(std::vector<tw_store_put> &puts) {
    std::unordered_set<std::string> later;
    for (auto put = puts.rbegin(); puts.size() > 1 && put != puts.rend(); ++put)
        if (!later.insert(name_of(*put->job)).second)
            put->hold = 0;
}

// Sends the waiting requests as one transaction, up to about `most_together` puts. If the database refuses a
// value, sends each request alone, so that one caller's bad text does not fail the others. Requests leave the
// queue only when they are done: if memory runs out before that, their own threads send them again.
void put_queue::put_together() {
    std::vector<request *> together;
    std::vector<tw_store_put> all;
    {
        const std::lock_guard hold(mutex_);
        for (request *const each : waiting_) {
            if (!together.empty() && (each->keep != together.front()->keep || all.size() >= most_together))
                break;
            together.push_back(each);
            all.insert(all.end(), each->puts.begin(), each->puts.end());
        }
    }
    if (together.empty())
        return;
    if (!together.front()->keep && holds_any(all))
        hold_last_of_each_name(all);
    tw_store_member whom = {};
    const int error = send(all, together.front()->keep, whom);
    const bool one_by_one = error == -EINVAL && together.size() > 1;
    std::size_t next = 0;
    for (request *const each : together) {
        for (tw_store_put &put : each->puts)
            put = all[next++];
        each->whom = whom;
        each->error = one_by_one ? send(each->puts, each->keep, each->whom) : error;
        if (each->error != 0)
            each->why = noted(each->error);
    }
    const std::lock_guard hold(mutex_);
    for (request *const each : together)
        each->is_done = true;
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(together.size()));
}

int put_queue::put(std::vector<tw_store_put> &puts, bool keep, tw_store_member &whom) {
    if (is_in_use_by_this_thread())
        return refuse_nested();
    request mine{puts, keep, whom, false, 0, {}};
    {
        const std::lock_guard hold(mutex_);
        waiting_.push_back(&mine);
    }
    for (;;) {
        {
            std::unique_lock hold(mutex_);
            changed_.wait(hold, [&] { return mine.is_done || !is_busy_; });
            if (mine.is_done)
                break;
        }
        const turn on_behalf_of_all(*this);
        try {
            put_together();
        } catch (const std::bad_alloc &) {
            const std::lock_guard hold(mutex_);
            std::erase(waiting_, &mine);
            throw;
        }
    }
    return mine.error != 0 ? refuse(mine.error, mine.why) : 0;
}

}  // namespace tickwheel::durable
