/* SPDX-License-Identifier: Apache-2.0 */
#include "source/host/server.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

static void read_architecture(const struct root *root, char *buf, size_t size)
{
    struct utsname names;
    ssize_t n;

    if (root->is_live && uname(&names) == 0) {
        (void)snprintf(buf, size, "%s", names.machine); /* fits */
        return;
    }
    n = root_read(root, buf, size, "proc/sys/kernel/arch"); /* since Linux 6.1 */
    buf[n > 0 ? strcspn(buf, "\n") : 0] = '\0';
}

int server_facts_read(const struct root *root, environment_get *get_variable,
                      struct server_facts *ret)
{
    *ret = (struct server_facts){ 0 };
    read_architecture(root, ret->architecture, sizeof(ret->architecture));
    dmi_read(root, &ret->dmi);
    ret->container = container_find(root, get_variable);
    ret->hypervisor = hypervisor_find(root, &ret->dmi);
    topology_read(root, &ret->topology);
    return devices_read(root, NULL, &ret->devices);
}

void server_facts_done(struct server_facts *facts)
{
    devices_done(&facts->devices);
}
