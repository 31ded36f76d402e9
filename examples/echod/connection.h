/* One client of the daemon. All functions run on the runtime's thread only. */
#ifndef ECHOD_CONNECTION_H
#define ECHOD_CONNECTION_H

#include <stdint.h>

#include "server.h"

struct connection;

/* Serves fd from now on and closes it at the end. Returns 0, or a negative errno; the caller then still owns
 * fd. */
int connection_open(struct server *server, int fd);

/* Closes and frees the connection, and adds one to *count. */
void connection_end(struct connection *connection, uint64_t *count);

/* Ends the connections that are between requests, once the bytes that they have sent are answered. The others
 * end when their request is answered. */
void connections_dismiss(struct server *server);

#endif
