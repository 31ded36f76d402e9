/* The expiry of Redis's keys on a wheel of Tickwheel: this file replaces src/expire.c, and includes that file
 * under the name expire_original.c.
 *
 * Ten times a second, the original looks at twenty volatile keys, and goes on only if many of them had
 * expired. Among a million others an expired key goes unnoticed for minutes, and its notification is as late.
 * Here each key that is due within the next minute has a node on a wheel, and the loop has a time event for
 * the first of these nodes. A sweep visits all volatile keys once in 30 seconds and adds a node for each key
 * that is due within the minute by then; a key that gets a short time to live is added at once. Any other key
 * takes no more memory than before.
 *
 * A node stays if its key is deleted, renamed or given a longer life: when the node is due, its callback
 * looks the key up in the database. The original's sampling goes on, for its statistics.
 *
 * What changes: a key expires within a few milliseconds of its deadline. If many keys are due together, each
 * turn of the loop expires keys for a millisecond. A replica drops the nodes that are due; once it becomes
 * the master, the sweep finds their keys. */
#define activeExpireCycle sampleKeys
#include "expire_original.c"
#undef activeExpireCycle

#include <tickwheel/tw.h>

#define SWEEP_MS 30000 /* for all volatile keys of a database */
#define NEAR_MS (2 * SWEEP_MS)
#define BATCH 64     /* buckets */
#define TURN_US 1000 /* for expiring keys */
#define RETRY_MS 100 /* while clients are paused */
#define LOOKS 32     /* at the first nodes, for an exact deadline */

/* The keys with a node, for one dictionary of volatile keys. SWAPDB gives the dictionary to another database,
 * and FLUSHDB may replace it. */
struct near {
    const dict *expires;
    int db;
    unsigned long swept; /* the bucket at which the sweep goes on */
    dict *keys;
};

struct near_key {
    struct tw_node node;
    struct near *near;
    sds key;
};

static struct tw wheel; /* one tick is a millisecond of the wall clock */
static struct near **nears;
static long long alarm_id = -1, alarm_at = LLONG_MAX;
static int is_expiring;

static int expire_due(aeEventLoop *loop, long long id, void *data);
static void expire_key(struct tw_node *node, void *arg);

static dictType near_keys = {.hashFunction = dictSdsHash, .keyCompare = dictSdsKeyCompare};

static void start(void) {
    int i;
    tw_init(&wheel, mstime(), TW_UNLOCKED);
    nears = zcalloc(server.dbnum * sizeof *nears);
    for (i = 0; i < server.dbnum; i++) {
        nears[i] = zcalloc(sizeof *nears[i]);
        nears[i]->db = i;
        nears[i]->keys = dictCreate(&near_keys);
    }
}

static struct near *near_of(const redisDb *db) {
    int i;
    if (nears == NULL)
        start();
    if (nears[db->id]->expires == db->expires)
        return nears[db->id];
    for (i = 0; i < server.dbnum; i++) {
        if (nears[i]->expires == db->expires) { /* the databases were swapped */
            struct near *near = nears[i];
            nears[i] = nears[db->id];
            nears[i]->db = i;
            nears[db->id] = near;
            near->db = db->id;
            return near;
        }
    }
    nears[db->id]->expires = db->expires;
    return nears[db->id];
}

/* Reads the clock, because server.mstime is that of the script or transaction that sets the key. */
static void set_alarm(long long at) {
    long long now;
    if (is_expiring || at >= alarm_at)
        return;
    now = mstime();
    if (alarm_id != -1)
        aeDeleteTimeEvent(server.el, alarm_id);
    alarm_at = at;
    alarm_id = aeCreateTimeEvent(server.el, at > now ? at - now : 0, expire_due, NULL, NULL);
}

/* db.c and the sweep call this: the key is due at `when`, by the clock that mstime() reads. */
void expireSoon(redisDb *db, sds key, long long when) {
    struct near *near;
    struct near_key *found;
    if (when - server.mstime > NEAR_MS)
        return;
    near = near_of(db);
    found = dictFetchValue(near->keys, key);
    if (found == NULL) {
        found = zcalloc(sizeof *found);
        tw_node_init(&found->node, expire_key, found);
        found->near = near;
        found->key = sdsdup(key);
        dictAdd(near->keys, found->key, found);
    }
    tw_arm_at(&wheel, &found->node, when < 0 ? 0 : when + 1);
    set_alarm(when + 1);
}

static void expire_key(struct tw_node *node, void *arg) {
    struct near_key *due = arg;
    redisDb *db;
    dictEntry *volatile_key;
    (void)node;
    while ((db = &server.db[due->near->db])->expires != due->near->expires) /* swapped, perhaps repeatedly */
        near_of(db);
    dictDelete(due->near->keys, due->key);
    volatile_key = iAmMaster() ? dictFind(db->expires, due->key) : NULL;
    if (volatile_key != NULL && !activeExpireCycleTryExpire(db, volatile_key, mstime()))
        expireSoon(db, due->key, dictGetSignedIntegerVal(volatile_key)); /* its deadline has moved */
    sdsfree(due->key);
    zfree(due);
}

/* Expires due keys for TURN_US. Returns whether more may be due. */
static int expire_keys(long long now) {
    const long long end = ustime() + TURN_US;
    struct tw_fire due;
    if (now < (long long)tw_now(&wheel))
        tw_set_back(&wheel, now);
    while (tw_take(&wheel, now, &due) == 1) {
        due.fn(due.node, due.arg);
        if (ustime() > end)
            return 1;
    }
    return 0;
}

static int expire_due(aeEventLoop *loop, long long id, void *data) {
    const long long now = mstime();
    const struct tw_node *first;
    long long begin;
    int is_more;
    (void)loop, (void)id, (void)data;
    if (!server.active_expire_enabled || checkClientPauseTimeoutAndReturnIfPaused())
        return RETRY_MS;
    begin = ustime();
    is_expiring = 1;
    server.core_propagates = 1;
    server.propagate_no_multi = 1;
    is_more = expire_keys(now);
    propagatePendingCommands();
    server.core_propagates = 0;
    server.propagate_no_multi = 0;
    is_expiring = 0;
    server.stat_expire_cycle_time_used += ustime() - begin;
    latencyAddSampleIfNeeded("expire-cycle", (ustime() - begin) / 1000);
    if (is_more)
        return 0;
    first = tw_first(&wheel, LOOKS);
    if (first == NULL && tw_count(&wheel) == 0) {
        alarm_id = -1;
        alarm_at = LLONG_MAX;
        return AE_NOMORE;
    }
    alarm_at = first != NULL ? tw_expiry(&wheel, first) : tw_next(&wheel);
    return alarm_at > now ? alarm_at - now : 0;
}

/* Sweeps `count` buckets, at most BATCH. The entries are scattered in memory, so the first loop prefetches
 * them. */
static void sweep_buckets(redisDb *db, unsigned long first, unsigned long count) {
    int table;
    unsigned long i;
    for (table = 0; table <= dictIsRehashing(db->expires); table++) {
        dictEntry *const *buckets = db->expires->ht_table[table];
        const unsigned long mask = DICTHT_SIZE_MASK(db->expires->ht_size_exp[table]);
        for (i = 0; i < count; i++)
            __builtin_prefetch(buckets[(first + i) & mask]);
        for (i = 0; i < count; i++) {
            const dictEntry *key;
            for (key = buckets[(first + i) & mask]; key != NULL; key = key->next)
                expireSoon(db, dictGetKey(key), dictGetSignedIntegerVal(key));
        }
    }
}

/* Sweeps the part of each database that falls into the time since the last call, or after a pause into one
 * second. */
static void sweep(void) {
    static long long last;
    const long long since = server.mstime - last;
    const long long passed = 0 <= since && since < 1000 ? since : 1000;
    int i;
    for (i = 0; i < server.dbnum; i++) {
        redisDb *db = &server.db[i];
        struct near *near = near_of(db);
        const unsigned long slots = dictSize(db->expires) != 0 ? dictSlots(db->expires) : 0;
        unsigned long left = slots * passed / SWEEP_MS + (slots != 0), count;
        for (; left != 0; left -= count) {
            count = left < BATCH ? left : BATCH;
            sweep_buckets(db, near->swept, count);
            near->swept += count;
        }
        if (htNeedsResize(near->keys)) /* most of its keys have expired */
            dictResize(near->keys);
        dictRehashMilliseconds(near->keys, 1);
    }
    last = server.mstime;
    if (alarm_id != -1 && alarm_at < server.mstime - RETRY_MS) { /* the clock was set forward */
        alarm_at = LLONG_MAX;
        set_alarm(server.mstime);
    }
}

void activeExpireCycle(int type) {
    if (type == ACTIVE_EXPIRE_CYCLE_SLOW && iAmMaster())
        sweep();
    sampleKeys(type);
}
