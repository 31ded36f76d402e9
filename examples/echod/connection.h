/* One client of the daemon. Used on the runtime's thread only. */
#ifndef ECHOD_CONNECTION_H
#define ECHOD_CONNECTION_H

#include <stdint.h>

#include "server.h"

struct connection;

/* Serves fd from now on, and closes it in the end. Returns 0, or a negative errno; then fd
 * is still the caller's. */
int connection_open(struct server *server, int fd);

/* Closes and frees it, and adds one to `*count`. */
void connection_end(struct connection *connection, uint64_t *count);

/* Ends those that are between requests, once what they have sent by now is answered; the
 * others follow when their request is answered. */
void connections_dismiss(struct server *server);

#endif
