/* SPDX-License-Identifier: Apache-2.0 */
/*
 * taskstats.h - the usage of every process and thread that exits on this machine, reported by
 * the kernel over generic netlink.
 *
 * The kernel writes the record while the process still has its memory, so the peak is the
 * process's own, regardless of which process forked it or waits for it. Only root can receive
 * records, and only in the machine's own namespaces. CPU times are whole clock ticks, or up to
 * one tick too low.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/root.h"
#include "source/proc/usage.h"

struct exit_record {
    pid_t pid;  /* ID of the thread that exited */
    pid_t tgid; /* process of that thread; `pid` if an old kernel does not report it */
    /* Peak RSS of the process so far; UNKNOWN: its memory was already released. */
    uint64_t peak_rss_bytes;
    bool is_group_exit; /* the thread was the last of its process */
    /* Usage of the thread, or of all threads of the process if it is the last of several. */
    uint64_t tick_ns; /* CPU time in whole clock ticks: right on average */
    uint64_t run_ns;  /* CPU time without the time since the last tick; 0: unknown */
    /* Usage of the thread alone, without CPU times. The wait for a CPU is UNKNOWN if the kernel does not
     * count it, the wait for I/O is 0 unless the kernel counts it. */
    struct usage usage;
    bool is_last_of_several;
    /* The process had not called exec and had hardly touched a page: its memory may be its
     * parent's, as after vfork. */
    bool may_be_borrowed;
    char name[32]; /* name of the thread; hostile text */
};

typedef void exit_record_seen(const struct exit_record *record, void *data);

struct taskstats_socket {
    int fd; /* -1: closed; readable at every exit on the machine */
    uint16_t family;
    bool skips_threads; /* only the last thread of a process is recorded */
    bool has_records; /* a record has arrived: none ever arrives in another network namespace */
    /* How many times records were lost; the number of lost records is unknown. */
    uint64_t lost_count;
};

#define TASKSTATS_CLOSED \
    {                    \
        .fd = -1         \
    }

/* Opens the socket. -EPERM: not root; -EINVAL: another namespace; -ENOENT: the kernel has no
 * taskstats. */
int taskstats_open(const struct root *root, struct taskstats_socket *ret);
void taskstats_close(struct taskstats_socket *taskstats);

/* Drops the records of threads from now on, except the last thread of each process: each record
 * costs a microsecond. Works only with kernels that report the process of a thread. */
int taskstats_skip_threads(struct taskstats_socket *taskstats);

/* Calls `seen` for all pending records. */
void taskstats_drain(struct taskstats_socket *taskstats, exit_record_seen *seen, void *data);

/* Parses the first record of a datagram. -ENOMSG: no exit record; -EBADMSG: damaged. */
int taskstats_parse(const void *datagram, size_t size, uint16_t family,
                    struct exit_record *ret);
