// tickwheel/ttl_map/loads.hpp - the loaders of get_or_load that run. Part of ttl_map.hpp.
#include <tickwheel/cplusplus.hpp>
#if defined(TICKWHEEL_CPLUSPLUS_20) && !defined(TICKWHEEL_TTL_MAP_LOADS_HPP)
#define TICKWHEEL_TTL_MAP_LOADS_HPP

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

namespace tickwheel::detail {

// One call of a loader, shared by the thread that makes it and those that wait for it. The
// loading thread writes the result before end(), and nothing after it.
template <class Key, class Value> struct load : std::enable_shared_from_this<load<Key, Value>> {
    std::uint64_t hash;
    Key key;
    std::thread::id by = std::this_thread::get_id();
    bool has_ended = false;
    std::optional<Value> value{};
    std::exception_ptr error{};
    std::condition_variable ended{};
    std::shared_ptr<load> next{};

    load(std::uint64_t h, const Key &k) : hash(h), key(k) {}

    // REQUIRES: shard lock held
    void end() {
        has_ended = true;
        ended.notify_all();
    }

    // Waits for the end, and returns a copy of the value or throws the exception. Throws
    // resource_deadlock_would_occur on the thread that loads.
    // RELEASES: shard lock
    Value result(std::unique_lock<std::mutex> &lock) {
        const auto keeps_this = this->shared_from_this();
        if (by == std::this_thread::get_id())
            throw std::system_error(std::make_error_code(std::errc::resource_deadlock_would_occur));
        ended.wait(lock, [this] { return has_ended; });
        lock.unlock();
        if (error != nullptr)
            std::rethrow_exception(error);
        return *value;
    }
};

// The loads of one shard whose result the shard will keep. There are at most as many as threads that
// load, so a list is enough.
// REQUIRES: shard lock held
template <class Key, class Value> class load_list {
  public:
    using load = detail::load<Key, Value>;

    std::shared_ptr<load> begin(std::uint64_t hash, const Key &key) {
        auto fresh = std::make_shared<load>(hash, key);
        fresh->next = std::move(first_);
        first_ = fresh;
        return fresh;
    }

    // Returns null if there is none.
    template <class K, class Equal> load *find(std::uint64_t hash, const K &key, const Equal &equal) const {
        load *each = first_.get();
        while (each != nullptr && !(each->hash == hash && equal(each->key, key)))
            each = each->next.get();
        return each;
    }

    // Takes a load off the list: its result is not kept. Returns false if it was not on the list.
    bool forget(const load &which) {
        std::shared_ptr<load> *link = &first_;
        while (*link != nullptr && link->get() != &which)
            link = &(*link)->next;
        if (*link == nullptr)
            return false;
        *link = std::shared_ptr<load>(std::move((*link)->next));
        return true;
    }
    void forget_all() { first_.reset(); }

  private:
    std::shared_ptr<load> first_;
};

}  // namespace tickwheel::detail

#endif
