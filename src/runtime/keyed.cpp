// keyed.h: entries that are known by name.
#include <tickwheel/keyed.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>

#include "entries.hpp"
#include "table.hpp"

struct tw_keyed : tickwheel::runtime::entries {
    tickwheel::runtime::table names;
    std::uint32_t capacity;

    // Of the entry that is being made known: its hash, and the one whose place it takes.
    std::uint32_t published_hash;
    tickwheel::runtime::entry *former;
};

namespace {

using namespace tickwheel::runtime;

bool has_key(const entry &it, const tw_key &key) {
    __builtin_prefetch(&it.node, 1);  // while the key is compared: the other cache line
    const tw_key own = key_of(it);
    if (own.is_number != (key.is_number != 0 ? 1 : 0))
        return false;
    if (own.is_number != 0)
        return own.number == key.number;
    return own.size == key.size && (key.size == 0 || std::memcmp(own.bytes, key.bytes, key.size) == 0);
}

// With the lock. Null: there is none.
entry *find(tw_keyed &set, std::uint32_t hash, const tw_key &key) {
    const std::uint32_t number =
        set.names.find(hash, [&](std::uint32_t slot) { return has_key(set.all[slot], key); });
    return number == table::none ? nullptr : &set.all[number];
}

// --- how entries become known ----------------------------------------------------------

// One that takes another's place needs no room of its own.
int reserve(entries &set, entry &it) {
    auto &keyed = static_cast<tw_keyed &>(set);
    const tw_key key = key_of(it);
    keyed.published_hash = keyed.names.hash(key);
    keyed.former = find(keyed, keyed.published_hash, key);
    if (keyed.former != nullptr)
        return 0;
    const bool is_full = keyed.capacity != 0 && keyed.names.count() == keyed.capacity;
    return is_full ? -ENOSPC : keyed.names.reserve_one();
}

entry *publish(entries &set, entry &it) {
    auto &keyed = static_cast<tw_keyed &>(set);
    if (keyed.former != nullptr)
        keyed.names.erase(keyed.published_hash, keyed.former->number);
    keyed.names.insert(keyed.published_hash, it.number);
    return keyed.former;
}

void unpublish(entries &set, entry &it) {
    auto &keyed = static_cast<tw_keyed &>(set);
    const tw_key key = key_of(it);
    const std::uint32_t hash = keyed.names.hash(key);
    if (find(keyed, hash, key) == &it)
        keyed.names.erase(hash, it.number);
}

void close_names(entries &set) { static_cast<tw_keyed &>(set).names.close(); }

constexpr entries_kind by_name = {
    .as_part = {.stop = nullptr, .fork = fork_entries, .revive = revive_entries, .destroy = destroy_entries},
    .reserve = reserve,
    .publish = publish,
    .unpublish = unpublish,
    .close = close_names,
};

// --- calls on one key ------------------------------------------------------------------

int refusal(const tw_keyed *set) { return set == nullptr ? -EINVAL : tickwheel::runtime::refusal(set->rt); }

// Calls what(entry, hold) on the live entry under a key, with the lock.
template <class What> int with(tw_keyed *set, const tw_key &key, What what) {
    if (const int error = refusal(set); error != 0)
        return error;
    if (!is_valid(key))
        return -EINVAL;
    const std::uint32_t hash = set->names.hash(key);
    entries_hold hold(*set);
    entry *const it = find(*set, hash, key);
    return it == nullptr ? -ENOENT : what(*it, hold);
}

}  // namespace

TW_API int tw_keyed_new(tw_keyed **keyed, tw_runtime *rt, const tw_keyed_options *options) {
    const tw_keyed_options o = options != nullptr ? *options : tw_keyed_options{};
    entries_options of_entries = {o.capacity, o.storage, o.workers, o.concurrent != 0};
    if (const int error = tickwheel::runtime::refusal(rt, of_entries); error != 0 || keyed == nullptr)
        return error != 0 ? error : -EINVAL;
    if (o.capacity != 0 && o.capacity < most_slots)
        ++of_entries.capacity;  // so that one can be replaced when all are there
    void *const memory = std::calloc(1, sizeof(tw_keyed));
    if (memory == nullptr)
        return -ENOMEM;
    auto *const set = new (memory) tw_keyed{};  // cppcheck-suppress legacyUninitvar
    set->capacity = o.capacity;
    int error = set->names.open(o.capacity);
    if (error == 0) {
        error = open(*set, *rt, of_entries, by_name);
        if (error != 0)
            set->names.close();
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
    const int error = refusal(keyed);
    return error != 0 ? error : close(*keyed);
}

TW_API int tw_keyed_set(tw_keyed *keyed, tw_key key, const tw_when *when, const tw_task *task) {
    const int error = refusal(keyed);
    return error != 0 ? error : start(*keyed, when, task, &key, nullptr);
}

TW_API int tw_keyed_after(tw_keyed *keyed, tw_key key, int64_t delay_ns, tw_task_callback *fn, void *arg) {
    const int error = refusal(keyed);
    return error != 0 ? error : start_after(*keyed, delay_ns, fn, arg, &key, nullptr);
}

TW_API int tw_keyed_every(tw_keyed *keyed, tw_key key, int64_t period_ns, tw_missed missed,
                          tw_task_callback *fn, void *arg) {
    const int error = refusal(keyed);
    return error != 0 ? error : start_every(*keyed, period_ns, missed, fn, arg, &key, nullptr);
}

TW_API int tw_keyed_move(tw_keyed *keyed, tw_key key, int64_t delay_ns) {
    if (const int error = refusal(keyed); error != 0)
        return error;
    if (delay_ns < 0)
        return -EINVAL;
    delayed to(*keyed->rt, delay_ns);
    return with(keyed, key, [&to](entry &it, entries_hold &) { return move(it, to); });
}

TW_API int tw_keyed_remove(tw_keyed *keyed, tw_key key) {
    return with(keyed, key, [](entry &it, entries_hold &hold) { return end(it, hold); });
}

TW_API int tw_keyed_remove_wait(tw_keyed *keyed, tw_key key) {
    return with(keyed, key, [](entry &it, entries_hold &hold) {
        const std::uint32_t generation = it.generation;
        const int prevented = end(it, hold);
        wait_until_over(it, generation, hold);
        return prevented;
    });
}

TW_API int tw_keyed_get(tw_keyed *keyed, tw_key key, tw_keyed_timer *timer) {
    return with(keyed, key, [timer](entry &it, entries_hold &) {
        if (timer != nullptr)
            *timer = {remaining(it), it.node.arg};
        return 0;
    });
}

TW_API size_t tw_keyed_count(tw_keyed *keyed) {
    if (refusal(keyed) != 0)
        return 0;
    const entries_hold hold(*keyed);
    return keyed->count;
}

TW_API int64_t tw_keyed_drain(tw_keyed *keyed, tw_keyed_each *each, void *drain_arg) {
    const int error = refusal(keyed);
    return error != 0 ? error : drain(*keyed, each, drain_arg);
}
