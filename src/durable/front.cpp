#include "front.hpp"

#include <cerrno>
#include <new>

#include "explain.hpp"

namespace tickwheel::durable {

namespace {

// More would not make a put cheaper, and would have the first wait for the last.
constexpr std::size_t most_together = 1000;

thread_local const front *in_use = nullptr;  // by this thread

}  // namespace

front::turn::turn(front &whose) : whose_(whose), is_refused_(in_use == &whose) {
    if (is_refused_)
        return;
    std::unique_lock hold(whose_.mutex_);
    whose_.changed_.wait(hold, [&] { return !whose_.is_busy_; });
    whose_.is_busy_ = true;
    in_use = &whose_;
}

front::turn::~turn() {
    if (is_refused_)
        return;
    in_use = nullptr;
    {
        const std::lock_guard hold(whose_.mutex_);
        whose_.is_busy_ = false;
    }
    whose_.changed_.notify_all();
}

bool front::is_in_use_by_this_thread() const { return in_use == this; }

int front::refuse_nested() { return refuse(-EDEADLK, "called by a visitor of the same connection"); }

int front::send(std::vector<tw_store_put> &puts, bool keep, tw_store_member &whom) {
    whom = lease_ != nullptr ? lease_->member() : tw_store_member{};
    return static_cast<int>(line_.ask([&](const tw_store &store, void *connection) {
        return store.put(connection, puts.data(), puts.size(), keep ? 1 : 0, whom.id != 0 ? &whom : nullptr);
    }));
}

// The requests that wait, as far as they fit into one transaction. If that is refused, the fault of one is
// not to be that of all. They leave the queue when they are done: without memory they are still there.
void front::put_together() {
    std::vector<request *> together;
    std::vector<tw_store_put> all;
    {
        const std::lock_guard hold(mutex_);
        for (request *const it : waiting_) {
            if (!together.empty() && (it->keep != together.front()->keep || all.size() >= most_together))
                break;
            together.push_back(it);
            all.insert(all.end(), it->puts.begin(), it->puts.end());
        }
    }
    if (together.empty())
        return;
    tw_store_member whom = {};
    const int error = send(all, together.front()->keep, whom);
    const bool one_by_one = error != 0 && together.size() > 1 && line_.is_open();
    std::size_t next = 0;
    for (request *const it : together) {
        for (tw_store_put &put : it->puts)
            put = all[next++];
        it->whom = whom;
        it->error = one_by_one ? send(it->puts, it->keep, it->whom) : error;
        if (it->error != 0)
            it->why = noted(it->error);
    }
    const std::lock_guard hold(mutex_);
    for (request *const it : together)
        it->is_done = true;
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(together.size()));
}

int front::put(std::vector<tw_store_put> &puts, bool keep, tw_store_member &whom) {
    if (in_use == this)
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
    return mine.error != 0 ? refuse(mine.error, std::move(mine.why)) : 0;
}

}  // namespace tickwheel::durable
