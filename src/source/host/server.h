/* SPDX-License-Identifier: Apache-2.0 */
/* server.h - what the machine is, beyond facts.h: for `spoor info`, not for runs. */
#ifndef SOURCE_HOST_SERVER_H
#define SOURCE_HOST_SERVER_H

#include "base/environment.h"
#include "base/root.h"
#include "source/host/devices.h"
#include "source/host/topology.h"
#include "source/host/virtualization.h"

/* Text is empty or NULL, and numbers are UNKNOWN, if the machine does not say. */
struct server_facts {
    char architecture[65]; /* "x86_64" */
    struct dmi dmi;
    struct container_name container;
    const char *hypervisor; /* static */
    struct topology topology;
    struct devices devices; /* disks only are of interest */
};

/* Fails only with -ENOMEM. The caller ends *ret with server_facts_done(). */
int server_facts_read(const struct root *root, environment_get *get_variable,
                      struct server_facts *ret);
void server_facts_done(struct server_facts *facts);

#endif
