// keyed.h: finding records by key. The key itself is in the record; a hash table maps the key's hash to the
// record's cell.
#include <tickwheel/keyed.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "key_table.hpp"
#include "record_move.hpp"

struct tw_keyed : tickwheel::timers::timer_set {};

namespace {

using namespace tickwheel;
using namespace tickwheel::timers;

struct keyed_records : record_set {
    key_table keys;
    // Between `reserve` and `publish`: the record that loses its key.
    record *replaced TW_GUARDED_BY(core::wheels_lock);
};

// The seed of the first lane's table is that of the set.
std::uint32_t hash_of(const tw_keyed &set, const tw_key &key) {
    return static_cast<keyed_records &>(first_of(set)).keys.hash(key);
}

// In a set with keys the rest is in the cache line after the record. The key is in the rest, and the caller
// then needs the record, so this fetches both lines at once.
bool has_key(record &timer, const tw_key &key) {
    __builtin_prefetch(&timer, 1);
    const record_rest &rest = rest_behind(timer);
    if (rest.has_number_key != (key.is_number != 0))
        return false;
    if (rest.has_number_key)
        return rest.key.number == key.number;
    const unsigned char *const bytes = key.size > sizeof rest.key.bytes ? rest.key.longer : rest.key.bytes;
    return rest.key_size == key.size && (key.size == 0 || std::memcmp(bytes, key.bytes, key.size) == 0);
}

// Returns null if no record has the key.
record *find(keyed_records &set, std::uint32_t hash, const tw_key &key) TW_REQUIRES(core::wheels_lock) {
    const std::uint32_t cell =
        set.keys.find(hash, [&](std::uint32_t candidate) { return has_key(record_at(candidate), key); });
    return cell == key_table::none ? nullptr : &record_at(cell);
}

// --- the lookup hooks ---------------------------------------------------------------

bool is_valid(const tw_key &key) {
    return key.is_number != 0 || (key.size <= TW_KEY_MAX && (key.bytes != nullptr || key.size == 0));
}

int refuse_key(const tw_key &key) {
    return runtime::refuse(-EINVAL, key.bytes == nullptr ? "the key's bytes are null"
                                                         : "the key is longer than TW_KEY_MAX");
}

// Copies a user's key, without the lock. Hashes the copy, because the user may change the original meanwhile,
// and a record must be found under the hash of its own key.
int make_copy(const tw_keyed &set, const tw_key &of, key_copy &copy) {
    if (!is_valid(of))
        return refuse_key(of);
    tw_key kept = of;
    copy.is_number = of.is_number != 0;
    if (copy.is_number) {
        copy.key.number = of.number;
    } else {
        unsigned char *to = copy.key.bytes;
        if (of.size > sizeof copy.key.bytes) {
            to = copy.key.longer = static_cast<unsigned char *>(std::malloc(of.size));
            if (to == nullptr)
                return -ENOMEM;
        }
        if (of.size != 0)
            std::memcpy(to, of.bytes, of.size);
        copy.size = static_cast<std::uint16_t>(of.size);
        kept.bytes = to;
    }
    copy.hash = hash_of(set, kept);
    return 0;
}

// A record that replaces another one takes over its room in the table.
int reserve(record_set &set, record &timer) TW_REQUIRES(core::wheels_lock) {
    auto &keyed = static_cast<keyed_records &>(set);
    keyed.replaced = find(keyed, timer.rest->key_hash, key_of(timer));
    if (keyed.replaced != nullptr)
        return 0;
    const bool is_full = keyed.capacity != 0 && keyed.keys.count() == keyed.capacity;
    return is_full ? runtime::refuse(-ENOSPC, "the table has as many timers as its capacity")
                   : keyed.keys.reserve_one();
}

record *publish(record_set &set, record &timer) TW_REQUIRES(core::wheels_lock) {
    auto &keyed = static_cast<keyed_records &>(set);
    if (keyed.replaced != nullptr)
        keyed.keys.erase(timer.rest->key_hash, keyed.replaced->number);
    keyed.keys.insert(timer.rest->key_hash, timer.number);
    return keyed.replaced;
}

void unpublish(record_set &set, record &timer) TW_REQUIRES(core::wheels_lock) {
    static_cast<keyed_records &>(set).keys.erase(timer.rest->key_hash, timer.number);
}

int open_keys(record_set &set) {
    return (new (&static_cast<keyed_records &>(set).keys) key_table)->open(set.capacity);
}

void close_keys(record_set &set) { static_cast<keyed_records &>(set).keys.close(); }

constexpr lookup_hooks by_key = {
    .size = sizeof(keyed_records),
    .open = open_keys,
    .close = close_keys,
    .reserve = reserve,
    .publish = publish,
    .unpublish = unpublish,
};

// --- calls on one key ------------------------------------------------------------------

// The lane of the keys with a hash. A table's buckets use the lowest bits.
unsigned lane_of(const tw_keyed &set, std::uint32_t hash) {
    const std::uint64_t scaled = std::uint64_t{hash} * set.lanes;
    return set.first + static_cast<unsigned>(scaled >> 32);
}

// Starts a record by start_with(records, copy of the key).
template <class Start> int start_under(tw_keyed *set, const tw_key &key, Start start_with) {
    key_copy copy;
    int error = check_arming(set);
    if (error == 0)
        error = make_copy(*set, key, copy);
    if (error != 0)
        return error;
    record_set *const records = records_in(*set, lane_of(*set, copy.hash));
    return records != nullptr ? start_with(*records, copy) : -ENOMEM;
}

// Where a key may be.
struct place_of_key {
    keyed_records *records;  // null: nowhere
    std::uint32_t hash;
};

// Checks the arguments of a call on an existing record, hashes the key and prefetches its bucket.
int look_up(const tw_keyed *set, const tw_key &key, place_of_key &place) {
    if (const int error = check_usable(set); error != 0)
        return error;
    if (!is_valid(key))
        return refuse_key(key);
    place.hash = hash_of(*set, key);
    place.records = static_cast<keyed_records *>(
        set->in_lanes[lane_of(*set, place.hash)].load(std::memory_order_acquire));
    if (place.records != nullptr)
        place.records->keys.prefetch(place.hash);
    return 0;
}

int refuse_absent_key() { return runtime::refuse(-ENOENT, "there is no timer under this key"); }

// Calls what(records, record, lock) with the record lock held, on the record under a key. With a
// record_guard, `what` must call none of the user's functions.
template <class Lock, class What>
TW_INLINED inline int with(const place_of_key &place, const tw_key &key, What what) {
    Lock lock(*place.records->space);
    record *const found = find(*place.records, place.hash, key);
    return found == nullptr ? refuse_absent_key() : what(*place.records, *found, lock);
}

template <class Lock, class What> int with(tw_keyed *set, const tw_key &key, What what) {
    place_of_key place;
    const int error = look_up(set, key, place);
    if (error != 0)
        return error;
    return place.records != nullptr ? with<Lock>(place, key, what) : refuse_absent_key();
}

}  // namespace

TW_API int tw_keyed_new(tw_keyed **keyed, tw_runtime *rt, const tw_set_options *options) {
    return make_set(keyed, rt, options, &by_key);
}

TW_API int tw_keyed_free(tw_keyed *keyed) { return free_set(keyed); }

TW_API int tw_keyed_set(tw_keyed *keyed, tw_key key, const tw_when *when, const tw_task *task) {
    return start_under(keyed, key, [=](record_set &records, key_copy &copy) {
        return start(records, when, task, &copy, nullptr);
    });
}

TW_API int tw_keyed_after(tw_keyed *keyed, tw_key key, int64_t delay_ns, tw_task_callback *fn, void *arg) {
    return start_under(keyed, key, [=](record_set &records, key_copy &copy) {
        return start_after(records, delay_ns, fn, arg, &copy, nullptr);
    });
}

TW_API int tw_keyed_every(tw_keyed *keyed, tw_key key, int64_t period_ns, tw_missed missed,
                          tw_task_callback *fn, void *arg) {
    return start_under(keyed, key, [=, &missed](record_set &records, key_copy &copy) {
        return start_every(records, period_ns, missed, fn, arg, &copy, nullptr);
    });
}

namespace {

// Moves a timer by `How`. Reads the clock while the bucket is being prefetched.
template <auto How> int move(tw_keyed *set, const tw_key &key, std::int64_t delay) {
    place_of_key place;
    int error = look_up(set, key, place);
    if (error == 0)
        error = delay < 0 ? runtime::refuse_delay() : check_arming(set);
    if (error != 0)
        return error;
    if (place.records == nullptr)
        return refuse_absent_key();
    prepared_move to(*place.records, delay);
    return with<record_guard>(place, key,
                              [&](record_set &, record &timer, record_guard &)
                                  TW_REQUIRES(core::wheels_lock) { return (to.*How)(timer); });
}

}  // namespace

TW_API int tw_keyed_move(tw_keyed *keyed, tw_key key, int64_t delay_ns) {
    return move<&prepared_move::move>(keyed, key, delay_ns);
}

TW_API int tw_keyed_again(tw_keyed *keyed, tw_key key) { return move<&prepared_move::again>(keyed, key, 0); }

TW_API int tw_keyed_cancel(tw_keyed *keyed, tw_key key) {
    return with<record_lock>(keyed, key,
                             [](record_set &records, record &timer, record_lock &lock)
                                 TW_YIELDS(core::wheels_lock) { return end(records, timer, lock); });
}

TW_API int tw_keyed_cancel_wait(tw_keyed *keyed, tw_key key) {
    return with<record_lock>(
        keyed, key, [](record_set &records, record &timer, record_lock &lock) TW_YIELDS(core::wheels_lock) {
            const std::uint32_t generation = timer.generation;
            const int prevented = end(records, timer, lock);
            wait_until_over(records, timer, generation, lock);
            return prevented;
        });
}

TW_API int tw_keyed_get(tw_keyed *keyed, tw_key key, tw_entry *entry) {
    return with<record_guard>(
        keyed, key, [=](record_set &records, record &found, record_guard &) TW_REQUIRES(core::wheels_lock) {
            if (entry != nullptr) {
                tw_key found_key;  // does not outlive this call
                *entry = entry_of(records, found, found_key);
                entry->key = nullptr;
            }
            return 0;
        });
}

TW_API int tw_keyed_visit(tw_keyed *keyed, tw_key key, tw_visitor *visit, void *arg) {
    if (visit == nullptr)
        return runtime::refuse_visitor();
    return with<record_lock>(
        keyed, key, [=](record_set &records, record &found, record_lock &lock) TW_YIELDS(core::wheels_lock) {
            return visit_one(records, found, {visit, arg}, lock);
        });
}

TW_API size_t tw_keyed_count(tw_keyed *keyed) { return count_of(keyed); }

TW_API int tw_keyed_each(tw_keyed *keyed, tw_visitor *visit, void *arg) {
    return tickwheel::timers::walk(keyed, {visit, arg});
}

TW_API int64_t tw_keyed_cancel_all(tw_keyed *keyed, tw_visitor *visit, void *arg) {
    return cancel_all(keyed, {visit, arg});
}
