/* SPDX-License-Identifier: Apache-2.0 */
/*
 * facts.h - what the machine is: read once at the start of a run.
 *
 * From /proc/cpuinfo, /proc/meminfo, /etc/os-release and /proc/sys/kernel, all
 * through the root, so a fixture machine has facts too.
 */
#ifndef SOURCE_HOST_FACTS_H
#define SOURCE_HOST_FACTS_H

#include <stdint.h>

#include "base/root.h"

/* Empty text and UNKNOWN where the machine does not tell. */
struct host_facts {
    char hostname[256]; /* as uname() says */
    char os[128];       /* PRETTY_NAME of etc/os-release */
    char kernel[128];   /* proc/sys/kernel/osrelease */
    char cpu_model[128];
    uint64_t cpus;         /* online: the cpuN lines of proc/stat */
    uint64_t memory_bytes; /* MemTotal */
};

/* "model name" of x86, "Model" or "Processor" of others, the name that belongs to the numbers of 64-bit
 * ARM; cut to fit. -ENOENT: none. */
int cpuinfo_parse_model(const char *text, char *buf, size_t size);

/* PRETTY_NAME of os-release, unquoted. -ENOENT: none. */
int os_release_parse_name(const char *text, char *buf, size_t size);

/* Reads what it can. Never fails: what cannot be read stays unknown. */
void host_facts_read(const struct root *root, struct host_facts *ret);

#endif
