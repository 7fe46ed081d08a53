/* SPDX-License-Identifier: Apache-2.0 */
/*
 * systemd_address.h - where a systemd manager may be spoken to.
 *
 * The manager of the machine (for root) or of the user listens on a socket of its own and is
 * on a message bus as well. Its own socket needs no bus to be running and is the faster one.
 */
#ifndef SOURCE_CGROUP_SYSTEMD_ADDRESS_H
#define SOURCE_CGROUP_SYSTEMD_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/environment.h"

enum { SYSTEMD_ADDRESSES_MAX = 3, SYSTEMD_PATH_SIZE = 108 };

struct systemd_address {
    char path[SYSTEMD_PATH_SIZE]; /* of a unix socket; fits a sockaddr_un */
    bool is_direct;               /* the manager's own socket: no bus is between */
};

/* The first "unix:path=" of a list of D-Bus addresses as in DBUS_SESSION_BUS_ADDRESS.
 * -ENOENT: there is none; -EBADMSG: it is damaged; -ENAMETOOLONG. */
int systemd_address_parse(const char *text, struct systemd_address *ret);

/* Those of a user's manager, or for root of the machine's, best first. Returns how many;
 * whether somebody listens there is not looked at. */
size_t systemd_addresses(uid_t uid, environment_get *environment,
                         struct systemd_address ret[SYSTEMD_ADDRESSES_MAX]);

#endif
