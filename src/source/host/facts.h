/* SPDX-License-Identifier: Apache-2.0 */
/*
 * facts.h - facts about the machine.
 *
 * A run reads struct host_facts once at its start: from /proc/cpuinfo, /proc/meminfo,
 * /etc/os-release and /proc/sys/kernel. The rest is for `spoor info`. All files are read
 * through the root, so a fixture machine has facts too.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/environment.h"
#include "base/root.h"
#include "source/host/devices.h"

/* A text is empty and a number UNKNOWN if the machine does not report it. */
struct host_facts {
    char hostname[256]; /* from uname() */
    char os[128];       /* PRETTY_NAME of etc/os-release */
    char kernel[128];   /* proc/sys/kernel/osrelease */
    char cpu_model[128];
    uint64_t cpus;         /* online: the cpuN lines of proc/stat */
    uint64_t memory_bytes; /* MemTotal */
};

/* Finds "model name" (x86), "Model" or "Processor" (others), or the name for the numbers of a
 * 64-bit ARM CPU; truncated to fit. -ENOENT: no model. */
int cpuinfo_parse_model(const char *text, char *buf, size_t size);

/* Returns PRETTY_NAME of os-release, unquoted. -ENOENT: no name. */
int os_release_parse_name(const char *text, char *buf, size_t size);

/* Reads the facts. Never fails: values that cannot be read stay unknown. */
void host_facts_read(const struct root *root, struct host_facts *ret);

/* The firmware's names of the machine: /sys/class/dmi/id, and /sys/hypervisor of Xen. Rules
 * over these strings identify the hypervisor or cloud. */

enum dmi_field {
    DMI_SYS_VENDOR,
    DMI_PRODUCT_NAME,
    DMI_PRODUCT_UUID, /* readable by root only */
    DMI_BIOS_VENDOR,
    DMI_BIOS_VERSION,
    DMI_CHASSIS_ASSET_TAG,
    DMI_HYPERVISOR_UUID, /* UUID of Xen, readable by everyone */
    DMI_FIELDS,
};

enum { DMI_TEXT_SIZE = 128 };

/* A string is empty if the field does not exist or cannot be read. Printable ASCII only. */
struct dmi {
    char text[DMI_FIELDS][DMI_TEXT_SIZE];
};

void dmi_read(const struct root *root, struct dmi *ret);

/* A name and the patterns (fnmatch(3), case-insensitive) that identify it. */
struct dmi_rule {
    const char *name;
    struct {
        enum dmi_field field;
        const char *pattern; /* NULL: no condition */
    } wanted[2];             /* both must match */
};

/* Returns the name of the first rule that matches, or NULL. */
const char *dmi_find(const struct dmi *dmi, const struct dmi_rule *rules, size_t count);

/* The structure of the online CPUs: sockets, cores, caches, NUMA nodes.
 *
 * From /sys/devices/system. Takes some 20 us per CPU: for `spoor info`, not for runs. */

enum { TOPOLOGY_CACHES_MAX = 8 };

/* All caches of one kind. Hybrid CPUs have some kinds in several sizes. */
struct topology_cache {
    uint64_t level; /* 1, 2, ... */
    char type;      /* 'd' data, 'i' instructions, 'u' both */
    uint64_t count; /* number of these caches */
    uint64_t bytes; /* total size */
};

/* A value is UNKNOWN if the kernel does not report it. */
struct topology {
    uint64_t sockets, cores, threads;
    uint64_t numa_nodes;
    struct topology_cache caches[TOPOLOGY_CACHES_MAX]; /* the smallest level first */
    size_t cache_count;
};

void topology_read(const struct root *root, struct topology *ret);

/* Parses "32K" or "8M", as in sysfs. -EBADMSG: not a size. */
int cache_size_parse(const char *text, uint64_t *ret);

/* Whether this is a container or a virtual machine, and of which kind.
 *
 * Both are recognized by traces: files, variables, cgroup paths, DMI strings, the device
 * tree and the CPU flag "hypervisor". No trace is certain: a well-hidden container or
 * virtual machine is not detected. */

/* "docker", "podman", "lxc", "kubernetes", "apptainer", "systemd-nspawn", ...; "none": no
 * trace of a container. */
struct container_name {
    char text[32];
};
struct container_name container_find(const struct root *root, environment_get *get_variable);

/* Returns "kvm", "xen", "vmware", "hyper-v", ...; "other": a virtual machine of an unknown
 * kind; "none": a physical machine; NULL: unknown. */
const char *hypervisor_find(const struct root *root, const struct dmi *dmi);

/* ---- More facts for `spoor info`, not for runs ------------------------------ */

/* Text is empty or NULL, and numbers are UNKNOWN, if the machine does not report them. */
struct server_facts {
    char architecture[65]; /* "x86_64" */
    struct dmi dmi;
    struct container_name container;
    const char *hypervisor; /* static */
    struct topology topology;
    struct devices devices; /* only the disks are used */
};

/* Reads the facts. Fails only with -ENOMEM. The caller must call server_facts_done(). */
int server_facts_read(const struct root *root, environment_get *get_variable,
                      struct server_facts *ret);
void server_facts_done(struct server_facts *facts);
