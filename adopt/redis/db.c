/* Redis's keys: tells the wheel of expire.c when a key gets its time to live. setExpire, and nothing else in
 * this file, stores a signed integer in a dictionary. */
#include "server.h"

void expireSoon(redisDb *db, sds key, long long when);

#undef dictSetSignedIntegerVal
#define dictSetSignedIntegerVal(entry, when) \
    ((entry)->v.s64 = (when), expireSoon(db, dictGetKey(entry), (when)))
#include "db_original.c"
