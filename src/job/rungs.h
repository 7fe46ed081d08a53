/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rungs.h - the sources that can be disabled, so that tests can run with each of them
 * on any machine: SPOOR_DISABLE=cgroup,perf
 */
#ifndef JOB_RUNGS_H
#define JOB_RUNGS_H

/* Bits of a set of disabled sources. */
enum rung {
    RUNG_CGROUP = 1u << 0,    /* the job cgroup */
    RUNG_PERF = 1u << 1,      /* perf's task-clock */
    RUNG_RING = 1u << 3,      /* perf's record of forks and exits */
    RUNG_CONNECTOR = 1u << 4, /* the proc connector */
    RUNG_TASKSTATS = 1u << 5, /* exit records */
    RUNG_CLOCK = 1u << 6,     /* CPU clocks of processes */
    RUNG_CHILDREN = 1u << 7,  /* children files */
    RUNG_SMAPS = 1u << 8,     /* the mappings of processes */
    RUNG_GPU = 1u << 10,      /* GPUs of all vendors */
    RUNG_NVIDIA = 1u << 11,
    RUNG_AMD = 1u << 12,
    RUNG_INTEL = 1u << 13,
};

/* The source of that name; 0: unknown. */
unsigned rungs_find(const char *name);

/* Parses a list such as "cgroup,perf"; NULL or empty: none. -EINVAL: an unknown name;
 * *ret_name then points to it in the list. */
int rungs_parse(const char *list, unsigned *ret_disabled, const char **ret_name);

#endif
