// The descriptors that a driver watches for the user: an epoll set, what to call for each descriptor in it,
// and the events that were fetched and not delivered yet.
//
// Delivering. Events are fetched in batches and delivered one for each wait, so that timers, stopping and
// removal get their turn in between. An event carries the number of the watch it was meant for. If the
// watch was removed or modified since, its number is another, and the event is dropped: a descriptor may
// be closed and its value used again while events of the former one are still in the batch
// (tests/drivers/watch_remove.pml).
//
// Threads. The thread that waits, alone, uses the batch. Any thread adds, modifies and removes watches,
// which the mutex guards.
#pragma once

#include <sys/epoll.h>

#include <cstddef>
#include <cstdint>

#include <tickwheel/driver.h>

#include "base/mutex.hpp"

namespace tickwheel::drivers {

class watches {
  public:
    static constexpr int batch_size = 64;

    // 0 or a negative errno. Watches are zeroed memory before.
    int open();

    // Takes no lock: in the child of a fork it may be held by a thread that is not there.
    void close();

    // Of the epoll set.
    int fd() const { return set_plus_1_ - 1; }

    // Adds a descriptor of the driver's own. Edge-triggered: an event says all there is to know of it, so it
    // need not be read.
    int add_own(int fd);

    // tw_driver.watch. Any thread.
    int change(tw_watch_change change, int fd, std::uint32_t events, tw_watch_callback *fn, void *arg);

    // The batch is empty when all that was fetched is delivered. Then its room takes `batch_size` events, and
    // fetched(count) says how many there are.
    bool is_empty() const { return delivered_ == fetched_; }
    epoll_event *room() { return batch_; }
    void fetched(int count) {
        delivered_ = 0;
        fetched_ = count;
    }

    // Delivers one event to the user, if there is one. Events of the driver's own descriptors that come
    // before it do not count; for each, take_own(fd) is called.
    template <class Take> void deliver_one(Take take_own) {
        while (!is_empty()) {
            const epoll_event event = batch_[delivered_++];
            if (is_own(event))
                take_own(fd_of(event));
            else if (deliver(event))
                return;
        }
    }

  private:
    // A watched descriptor, at its number's place in a table.
    struct watch {
        tw_watch_callback *fn;  // null if the descriptor is not watched
        void *arg;
        std::uint32_t number;  // a new one for each change
    };

    static constexpr std::uint32_t internal = 0;  // the number of the driver's own descriptors
    static constexpr int none = -1;

    static bool is_own(const epoll_event &event) { return event.data.u64 >> 32 == internal; }
    static int fd_of(const epoll_event &event) {
        return static_cast<int>(static_cast<std::uint32_t>(event.data.u64));
    }

    bool deliver(const epoll_event &event);
    int add(int fd, std::uint32_t events, tw_watch_callback *fn, void *arg) TW_REQUIRES(mutex_);
    int modify(int fd, std::uint32_t events) TW_REQUIRES(mutex_);
    int remove(int fd) TW_REQUIRES(mutex_);
    int make_room(int fd) TW_REQUIRES(mutex_);
    int control(int operation, int fd, std::uint32_t events, std::uint32_t number) const;
    bool is_watched(int fd) const TW_REQUIRES(mutex_);
    std::uint32_t next_number() TW_REQUIRES(mutex_);
    void wait_for_callback(int fd) TW_YIELDS(mutex_);

    int set_plus_1_;  // 0 is closed, as zeroed memory is
    epoll_event batch_[batch_size];
    int fetched_, delivered_;

    // Not held during callbacks. While the callback of a watch runs, `running_` is
    // its descriptor, and `calls_` has counted it. A call that removes the watch waits for `returned_`
    // until one of the two has changed.
    base::mutex mutex_;
    pthread_cond_t returned_;
    watch *table_ TW_GUARDED_BY(mutex_);
    std::size_t room_ TW_GUARDED_BY(mutex_);  // in `table_`
    std::uint32_t last_number_ TW_GUARDED_BY(mutex_);
    int running_ TW_GUARDED_BY(mutex_);  // descriptor whose callback runs, or `none`
    pthread_t running_on_ TW_GUARDED_BY(mutex_);
    std::uint64_t calls_ TW_GUARDED_BY(mutex_);  // callbacks that have begun
};

}  // namespace tickwheel::drivers
