/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_names.h - the sources that can be disabled, so that tests can run with each of them
 * on any machine: SPOOR_DISABLE=cgroup,perf
 */
#pragma once

/* Bits of a set of disabled sources. */
enum source_bit {
    SOURCE_CGROUP = 1u << 0,    /* the job cgroup */
    SOURCE_PERF = 1u << 1,      /* perf's task-clock */
    SOURCE_RING = 1u << 3,      /* perf's record of forks and exits */
    SOURCE_CONNECTOR = 1u << 4, /* the proc connector */
    SOURCE_TASKSTATS = 1u << 5, /* exit records */
    SOURCE_CLOCK = 1u << 6,     /* CPU clocks of processes */
    SOURCE_CHILDREN = 1u << 7,  /* children files */
    SOURCE_SMAPS = 1u << 8,     /* the mappings of processes */
    SOURCE_NETWORK = 1u << 9,   /* TCP sockets */
    SOURCE_GPU = 1u << 10,      /* GPUs of all vendors */
    SOURCE_NVIDIA = 1u << 11,
    SOURCE_AMD = 1u << 12,
    SOURCE_INTEL = 1u << 13,
};

/* Returns the bit of a source; 0: unknown name. */
unsigned sources_find(const char *name);

/* Parses a list such as "cgroup,perf"; NULL or empty: none. -EINVAL: an unknown name;
 * *ret_name then points to it in the list. */
int sources_parse(const char *list, unsigned *ret_disabled, const char **ret_name);
