// The descriptors that a driver watches for the user: an epoll set, the callback of each descriptor in it,
// and the fetched events that are not delivered yet.
//
// Delivering. The driver fetches events in batches and delivers one per wait, so that timers, stopping and
// removal get their turn in between. An event carries the number of its watch. If the watch has been removed
// or modified since, the numbers differ and the event is dropped: the user may close a descriptor and get the
// same value for another one while the batch still holds events of the first
// (tests/drivers/watch_remove.pml).
//
// Threads. Only the waiting thread uses the batch. Any thread may add, modify and remove watches; the mutex
// guards them.
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

    // Returns 0 or a negative errno. REQUIRES: zeroed memory
    int open();

    // Takes no lock: in a forked child, a thread that no longer exists may hold it.
    void close();

    // The epoll set.
    int fd() const { return set_plus_1_ - 1; }

    // Adds one of the driver's own descriptors, edge-triggered, so that the driver need not read it.
    int add_own(int fd);

    // tw_driver.watch. Any thread.
    int change(tw_watch_change change, int fd, std::uint32_t events, tw_watch_callback *fn, void *arg);

    // The batch is empty once all fetched events are delivered. The driver may then write up to `batch_size`
    // events to room(), and report their number with fetched(count).
    bool is_empty() const { return delivered_ == fetched_; }
    epoll_event *room() { return batch_; }
    void fetched(int count) {
        delivered_ = 0;
        fetched_ = count;
    }

    // Delivers one event to the user, if there is one. Calls take_own(fd) for each event of the driver's own
    // descriptors on the way.
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
    // A watched descriptor. The table is indexed by descriptor.
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
    void end_call();
    int add(int fd, std::uint32_t events, tw_watch_callback *fn, void *arg) TW_REQUIRES(mutex_);
    int modify(int fd, std::uint32_t events) TW_REQUIRES(mutex_);
    int remove(int fd) TW_REQUIRES(mutex_);
    int make_room(int fd) TW_REQUIRES(mutex_);
    int control(int operation, int fd, std::uint32_t events, std::uint32_t number) const;
    bool is_watched(int fd) const TW_REQUIRES(mutex_);
    std::uint32_t next_number() TW_REQUIRES(mutex_);
    void wait_for_callback(int fd) TW_YIELDS(mutex_);

    int set_plus_1_;  // 0: closed, as in zeroed memory
    epoll_event batch_[batch_size];
    int fetched_, delivered_;

    // Not held during callbacks. While a watch's callback runs, `running_` is its descriptor and `calls_` has
    // counted it. A call that removes the watch waits on `returned_` until one of the two changes.
    base::mutex mutex_;
    pthread_cond_t returned_;
    watch *table_ TW_GUARDED_BY(mutex_);
    std::size_t room_ TW_GUARDED_BY(mutex_);  // entries in `table_`
    std::uint32_t last_number_ TW_GUARDED_BY(mutex_);
    int running_ TW_GUARDED_BY(mutex_);  // descriptor whose callback runs, or `none`
    pthread_t running_on_ TW_GUARDED_BY(mutex_);
    std::uint64_t calls_ TW_GUARDED_BY(mutex_);  // callbacks that have begun
};

}  // namespace tickwheel::drivers
