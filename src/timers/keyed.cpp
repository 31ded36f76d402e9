// keyed.h: records that are known by name.
#include <tickwheel/keyed.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>

#include "key_table.hpp"
#include "record_set.hpp"

struct tw_keyed : tickwheel::runtime::record_set {
    tickwheel::runtime::key_table keys;
    std::uint32_t capacity;
    tickwheel::runtime::record *former;  // whose place the record takes that is being made known
};

namespace {

using namespace tickwheel::runtime;

bool has_key(const record &it, const tw_key &key) {
    __builtin_prefetch(&it.node, 1);  // while the key is compared: the other cache line
    const tw_key own = key_of(it);
    if (own.is_number != (key.is_number != 0 ? 1 : 0))
        return false;
    if (own.is_number != 0)
        return own.number == key.number;
    return own.size == key.size && (key.size == 0 || std::memcmp(own.bytes, key.bytes, key.size) == 0);
}

// With the lock. Null: there is none.
record *find(tw_keyed &set, std::uint32_t hash, const tw_key &key) {
    const std::uint32_t number =
        set.keys.find(hash, [&](std::uint32_t slot) { return has_key(set.all[slot], key); });
    return number == key_table::none ? nullptr : &set.all[number];
}

// --- how records become known ----------------------------------------------------------

bool is_valid(const tw_key &key) {
    return key.is_number != 0 || (key.size <= TW_KEY_MAX && (key.bytes != nullptr || key.size == 0));
}

int refuse_key() { return refuse(-EINVAL, "the key is longer than TW_KEY_MAX, or its bytes are null"); }

// Without the lock. The hash is that of the copy, whatever becomes of the original.
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

std::uint32_t hash_of(const tw_keyed &set, const record &it) {
    const long_key *const longer = long_key_of(it);
    return longer != nullptr ? longer->hash : set.keys.hash(key_of(it));
}

// One that takes another's place needs no room of its own.
int reserve(record_set &set, record &it, std::uint32_t hash) {
    auto &keyed = static_cast<tw_keyed &>(set);
    keyed.former = find(keyed, hash, key_of(it));
    if (keyed.former != nullptr)
        return 0;
    const bool is_full = keyed.capacity != 0 && keyed.keys.count() == keyed.capacity;
    return is_full ? refuse(-ENOSPC, "the set has as many timers as its capacity") : keyed.keys.reserve_one();
}

record *publish(record_set &set, record &it, std::uint32_t hash) {
    auto &keyed = static_cast<tw_keyed &>(set);
    if (keyed.former != nullptr)
        keyed.keys.erase(hash, keyed.former->number);
    keyed.keys.insert(hash, it.number);
    return keyed.former;
}

void unpublish(record_set &set, record &it) {
    auto &keyed = static_cast<tw_keyed &>(set);
    const std::uint32_t hash = hash_of(keyed, it);
    if (find(keyed, hash, key_of(it)) == &it)
        keyed.keys.erase(hash, it.number);
}

void close_names(record_set &set) { static_cast<tw_keyed &>(set).keys.close(); }

constexpr lookup_hooks by_name = {
    .reserve = reserve,
    .publish = publish,
    .unpublish = unpublish,
    .close = close_names,
};

// --- calls on one key ------------------------------------------------------------------

// Starts one by start_it(copy of the key).
template <class Start> int start_under(tw_keyed *set, const tw_key &key, Start start_it) {
    key_copy copy;
    int error = check_arming(set);
    if (error == 0)
        error = make_copy(*set, key, copy);
    return error != 0 ? error : start_it(copy);
}

// What comes before a call on one that is there: 0, and the hash of its key.
int look_up(const tw_keyed *set, const tw_key &key, std::uint32_t &hash) {
    if (const int error = check_usable(set); error != 0)
        return error;
    if (!is_valid(key))
        return refuse_key();
    hash = set->keys.hash(key);
    set->keys.prefetch(hash);
    return 0;
}

// Calls what(record, hold) on it, with the lock.
template <class What> int with(tw_keyed &set, const tw_key &key, std::uint32_t hash, What what) {
    set_lock hold(set);
    record *const it = find(set, hash, key);
    return it == nullptr ? refuse(-ENOENT, "no timer is under this key") : what(*it, hold);
}

template <class What> int with(tw_keyed *set, const tw_key &key, What what) {
    std::uint32_t hash;
    const int error = look_up(set, key, hash);
    return error != 0 ? error : with(*set, key, hash, what);
}

}  // namespace

TW_API int tw_keyed_new(tw_keyed **keyed, tw_runtime *rt, const tw_keyed_options *options) {
    const tw_keyed_options o = options != nullptr ? *options : tw_keyed_options{};
    set_options of_set = {o.capacity, o.storage, o.workers, o.concurrent != 0};
    if (const int error = check_usable(rt, of_set); error != 0 || keyed == nullptr)
        return error != 0 ? error : refuse(-EINVAL, "no place for the set");
    if (o.capacity != 0 && o.capacity < most_records)
        ++of_set.capacity;  // so that one can be replaced when all are there
    void *const memory = std::calloc(1, sizeof(tw_keyed));
    if (memory == nullptr)
        return -ENOMEM;
    auto *const set = new (memory) tw_keyed{};  // cppcheck-suppress legacyUninitvar
    set->capacity = o.capacity;
    int error = set->keys.open(o.capacity);
    if (error == 0) {
        error = open(*set, *rt, of_set, by_name);
        if (error != 0)
            set->keys.close();
    }
    if (error != 0)
        std::free(set);
    else
        *keyed = set;
    return error;
}

TW_API int tw_keyed_free(tw_keyed *keyed) {
    if (keyed == nullptr)
        return 0;
    const int error = check_usable(keyed);
    return error != 0 ? error : close(*keyed);
}

TW_API int tw_keyed_set(tw_keyed *keyed, tw_key key, const tw_when *when, const tw_task *task) {
    return start_under(keyed, key, [=](key_copy &copy) { return start(*keyed, when, task, &copy, nullptr); });
}

TW_API int tw_keyed_after(tw_keyed *keyed, tw_key key, int64_t delay_ns, tw_task_callback *fn, void *arg) {
    return start_under(
        keyed, key, [=](key_copy &copy) { return start_after(*keyed, delay_ns, fn, arg, &copy, nullptr); });
}

TW_API int tw_keyed_every(tw_keyed *keyed, tw_key key, int64_t period_ns, tw_missed missed,
                          tw_task_callback *fn, void *arg) {
    return start_under(keyed, key, [=](key_copy &copy) {
        return start_every(*keyed, period_ns, missed, fn, arg, &copy, nullptr);
    });
}

// The clock is read while the table is being fetched.
TW_API int tw_keyed_move(tw_keyed *keyed, tw_key key, int64_t delay_ns) {
    std::uint32_t hash;
    int error = look_up(keyed, key, hash);
    if (error == 0)
        error = delay_ns < 0 ? refuse_delay() : check_arming(keyed);
    if (error != 0)
        return error;
    delayed_call to(*keyed->rt, delay_ns);
    return with(*keyed, key, hash, [&to](record &it, set_lock &) { return move(it, to); });
}

TW_API int tw_keyed_remove(tw_keyed *keyed, tw_key key) {
    return with(keyed, key, [](record &it, set_lock &hold) { return end(it, hold); });
}

TW_API int tw_keyed_remove_wait(tw_keyed *keyed, tw_key key) {
    return with(keyed, key, [](record &it, set_lock &hold) {
        const std::uint32_t generation = it.generation;
        const int prevented = end(it, hold);
        wait_until_over(it, generation, hold);
        return prevented;
    });
}

TW_API int tw_keyed_get(tw_keyed *keyed, tw_key key, tw_keyed_timer *timer) {
    return with(keyed, key, [timer](record &it, set_lock &) {
        if (timer != nullptr)
            *timer = {remaining(it), it.node.arg};
        return 0;
    });
}

TW_API size_t tw_keyed_count(tw_keyed *keyed) {
    if (check_usable(keyed) != 0)
        return 0;
    const set_lock hold(*keyed);
    return keyed->count;
}

TW_API int64_t tw_keyed_drain(tw_keyed *keyed, tw_keyed_each *each, void *drain_arg) {
    const int error = check_usable(keyed);
    return error != 0 ? error : drain(*keyed, {.by_key = each, .arg = drain_arg});
}
