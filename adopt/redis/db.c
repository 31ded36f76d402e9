/* Wraps Redis's db.c to tell the wheel of expire.c when a key gets a time to live: of db.c's functions only
 * setExpire stores a signed integer in a dictionary. */
#include "server.h"

void expireSoon(redisDb *db, sds key, long long when);

#undef dictSetSignedIntegerVal
#define dictSetSignedIntegerVal(entry, when) \
    ((entry)->v.s64 = (when), expireSoon(db, dictGetKey(entry), (when)))
#include "db_original.c"
