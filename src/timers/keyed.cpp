// keyed.h: records that are found by key. The key itself is in the record; a hash table leads
// from its hash to the record's cell.
#include <tickwheel/keyed.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "key_table.hpp"
#include "record_set.hpp"

struct tw_keyed : tickwheel::runtime::record_set {
    tickwheel::runtime::key_table keys;
    std::uint32_t capacity;
    tickwheel::runtime::record *replaced;  // from `reserve` to `publish`: the record that loses its key
};

namespace {

using namespace tickwheel::runtime;

bool has_key(const record &record, const tw_key &key) {
    __builtin_prefetch(&record.node, 1);  // the other cache line, while the key is compared
    const tw_key own = key_of(record);
    if (own.is_number != (key.is_number != 0 ? 1 : 0))
        return false;
    if (own.is_number != 0)
        return own.number == key.number;
    return own.size == key.size && (key.size == 0 || std::memcmp(own.bytes, key.bytes, key.size) == 0);
}

// Returns null if there is none.
// REQUIRES: set lock held
record *find(tw_keyed &set, std::uint32_t hash, const tw_key &key) {
    const std::uint32_t number =
        set.keys.find(hash, [&](std::uint32_t candidate) { return has_key(set.records[candidate], key); });
    return number == key_table::none ? nullptr : &set.records[number];
}

// --- the lookup hooks ---------------------------------------------------------------

bool is_valid(const tw_key &key) {
    return key.is_number != 0 || (key.size <= TW_KEY_MAX && (key.bytes != nullptr || key.size == 0));
}

int refuse_key() { return refuse(-EINVAL, "the key is longer than TW_KEY_MAX, or its bytes are null"); }

// Copies a user's key, without the lock. Hashes the copy: the user may change the original
// meanwhile, and a record must be found under the hash of its own key.
int make_copy(const tw_keyed &set, const tw_key &of, key_copy &copy) {
    if (!is_valid(of))
        return refuse_key();
    tw_key kept = of;
    long_key *longer = nullptr;
    copy.is_number = of.is_number != 0;
    if (copy.is_number) {
        copy.key.number = of.number;
    } else {
        unsigned char *to = copy.key.bytes;
        if (of.size > sizeof copy.key.bytes) {
            longer = static_cast<long_key *>(std::malloc(sizeof(long_key) + of.size));
            if (longer == nullptr)
                return -ENOMEM;
            copy.key.longer = longer;
            to = longer->bytes();
        }
        if (of.size != 0)
            std::memcpy(to, of.bytes, of.size);
        copy.size = static_cast<std::uint16_t>(of.size);
        kept.bytes = to;
    }
    copy.hash = set.keys.hash(kept);
    if (longer != nullptr)
        longer->hash = copy.hash;
    set.keys.prefetch(copy.hash);
    return 0;
}

std::uint32_t hash_of(const tw_keyed &set, const record &record) {
    const long_key *const longer = long_key_of(record);
    return longer != nullptr ? longer->hash : set.keys.hash(key_of(record));
}

// A record that replaces another one takes over its room in the table.
int reserve(record_set &set, record &record, std::uint32_t hash) {
    auto &keyed = static_cast<tw_keyed &>(set);
    keyed.replaced = find(keyed, hash, key_of(record));
    if (keyed.replaced != nullptr)
        return 0;
    const bool is_full = keyed.capacity != 0 && keyed.keys.count() == keyed.capacity;
    return is_full ? refuse(-ENOSPC, "the set has as many timers as its capacity") : keyed.keys.reserve_one();
}

record *publish(record_set &set, record &record, std::uint32_t hash) {
    auto &keyed = static_cast<tw_keyed &>(set);
    if (keyed.replaced != nullptr)
        keyed.keys.erase(hash, keyed.replaced->number);
    keyed.keys.insert(hash, record.number);
    return keyed.replaced;
}

void unpublish(record_set &set, record &record) {
    auto &keyed = static_cast<tw_keyed &>(set);
    const std::uint32_t hash = hash_of(keyed, record);
    if (find(keyed, hash, key_of(record)) == &record)
        keyed.keys.erase(hash, record.number);
}

int open_keys(record_set &set, const set_options &options) {
    auto &keyed = static_cast<tw_keyed &>(set);
    keyed.capacity = options.capacity;
    return keyed.keys.open(options.capacity);
}

void close_keys(record_set &set) { static_cast<tw_keyed &>(set).keys.close(); }

constexpr lookup_hooks by_key = {
    .spare_records = 1,
    .open = open_keys,
    .close = close_keys,
    .reserve = reserve,
    .publish = publish,
    .unpublish = unpublish,
};

// --- calls on one key ------------------------------------------------------------------

// Starts a record by start_it(copy of the key).
template <class Start> int start_under(tw_keyed *set, const tw_key &key, Start start_it) {
    key_copy copy;
    int error = check_arming(set);
    if (error == 0)
        error = make_copy(*set, key, copy);
    return error != 0 ? error : start_it(copy);
}

// Checks the arguments of a call on an existing record, hashes the key and prefetches its bucket.
int look_up(const tw_keyed *set, const tw_key &key, std::uint32_t &hash) {
    if (const int error = check_usable(set); error != 0)
        return error;
    if (!is_valid(key))
        return refuse_key();
    hash = set->keys.hash(key);
    set->keys.prefetch(hash);
    return 0;
}

// Calls what(record, lock) with the set lock held, on the record under a key.
template <class What> int with(tw_keyed &set, const tw_key &key, std::uint32_t hash, What what) {
    set_lock lock(set);
    record *const found = find(set, hash, key);
    return found == nullptr ? refuse(-ENOENT, "no timer is under this key") : what(*found, lock);
}

template <class What> int with(tw_keyed *set, const tw_key &key, What what) {
    std::uint32_t hash;
    const int error = look_up(set, key, hash);
    return error != 0 ? error : with(*set, key, hash, what);
}

}  // namespace

TW_API int tw_keyed_new(tw_keyed **keyed, tw_runtime *rt, const tw_keyed_options *options) {
    return make_set(keyed, rt, options_of(options), by_key);
}

TW_API int tw_keyed_free(tw_keyed *keyed) { return free_set(keyed); }

TW_API int tw_keyed_set(tw_keyed *keyed, tw_key key, const tw_when *when, const tw_task *task) {
    return start_under(keyed, key, [=](key_copy &copy) { return start(*keyed, when, task, &copy, nullptr); });
}

TW_API int tw_keyed_after(tw_keyed *keyed, tw_key key, int64_t delay_ns, tw_task_callback *fn, void *arg) {
    return start_under(
        keyed, key, [=](key_copy &copy) { return start_after(*keyed, delay_ns, fn, arg, &copy, nullptr); });
}

TW_API int tw_keyed_every(tw_keyed *keyed, tw_key key, int64_t period_ns, tw_missed missed,
                          tw_task_callback *fn, void *arg) {
    return start_under(keyed, key, [=, &missed](key_copy &copy) {
        return start_every(*keyed, period_ns, missed, fn, arg, &copy, nullptr);
    });
}

// Reads the clock while the bucket is being prefetched.
TW_API int tw_keyed_move(tw_keyed *keyed, tw_key key, int64_t delay_ns) {
    std::uint32_t hash;
    int error = look_up(keyed, key, hash);
    if (error == 0)
        error = delay_ns < 0 ? refuse_delay() : check_arming(keyed);
    if (error != 0)
        return error;
    prepared_delay to(*keyed->rt, delay_ns);
    return with(*keyed, key, hash, [&to](record &record, set_lock &) { return move(record, to); });
}

TW_API int tw_keyed_remove(tw_keyed *keyed, tw_key key) {
    return with(keyed, key, [](record &record, set_lock &lock) { return end(record, lock); });
}

TW_API int tw_keyed_remove_wait(tw_keyed *keyed, tw_key key) {
    return with(keyed, key, [](record &record, set_lock &lock) {
        const std::uint32_t generation = record.generation;
        const int prevented = end(record, lock);
        wait_until_over(record, generation, lock);
        return prevented;
    });
}

TW_API int tw_keyed_get(tw_keyed *keyed, tw_key key, tw_keyed_timer *timer) {
    return with(keyed, key, [timer](record &record, set_lock &) {
        if (timer != nullptr)
            *timer = {remaining(record), record.node.arg};
        return 0;
    });
}

TW_API size_t tw_keyed_count(tw_keyed *keyed) { return count_of(keyed); }

TW_API int64_t tw_keyed_drain(tw_keyed *keyed, tw_keyed_each *each, void *drain_arg) {
    return drain(keyed, {.by_key = each, .arg = drain_arg});
}
