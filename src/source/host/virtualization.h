/* SPDX-License-Identifier: Apache-2.0 */
/*
 * virtualization.h - whether this is a container or a virtual machine, and of which kind.
 *
 * Each is found by what it leaves behind: files, variables, cgroup paths, DMI strings, the device tree
 * and the CPU flag "hypervisor". None of it is certain: one that hides well is not found.
 */
#ifndef SOURCE_HOST_VIRTUALIZATION_H
#define SOURCE_HOST_VIRTUALIZATION_H

#include "base/environment.h"
#include "base/root.h"
#include "source/host/dmi.h"

/* "docker", "podman", "lxc", "kubernetes", "apptainer", "systemd-nspawn", ...; "none": no sign of one. */
struct container_name {
    char text[32];
};
struct container_name container_find(const struct root *root, environment_get *get_variable);

/* "kvm", "xen", "vmware", "hyper-v", ...; "other": a virtual machine of an unknown kind; "none": a physical
 * machine; NULL: unknown. */
const char *hypervisor_find(const struct root *root, const struct dmi *dmi);

#endif
