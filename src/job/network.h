/* SPDX-License-Identifier: Apache-2.0 */
/*
 * network.h - the bytes that the TCP connections of the job carried.
 *
 * A socket belongs to the job if one of its processes was seen to hold it, or if it was created
 * in the job cgroup. From then on the kernel's reports give its final counts, so a connection
 * needs to be seen only once. Other sockets that are destroyed may have been the job's, unless
 * they were seen to be foreign: they count in the upper bounds.
 *
 * UDP, QUIC and RDMA have no counters. The sockets of a process in another network namespace are not visible: the
 * interfaces of the namespace are counted instead, with all their traffic.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source/events/tcp_diag.h"

/* Loopback connections have both ends on this machine. */
enum network_count {
    NETWORK_RECEIVED,
    NETWORK_SENT,
    NETWORK_LOOPBACK_RECEIVED,
    NETWORK_LOOPBACK_SENT,
    NETWORK_COUNTS,
};

/* A connection of the job. */
struct network_socket {
    struct tcp_socket tcp; /* as last read */
    size_t peer;           /* index in job_network.peers */
    bool is_gone;          /* the list at the end did not contain it */
};

/* The owner of a socket. */
struct network_owner {
    uint64_t cookie;   /* 0: a free slot */
    uint32_t position; /* index in job_network.sockets, or FOREIGN, CANDIDATE or MARKER */
};

/* A socket that a process of the job holds. */
struct network_inode {
    uint64_t inode;
    bool is_awaited; /* a TCP socket that no list contained yet */
};

struct network_inodes {
    struct network_inode *list; /* owned */
    size_t count, capacity;
};

/* Connections with one remote address. */
struct network_peer {
    uint8_t family;
    uint32_t address[4]; /* in network byte order */
    uint64_t connections, received_bytes, sent_bytes;
};

/* The last entry sums up the addresses that do not fit. */
enum { NETWORK_PEERS_MAX = 64 };

/* A network namespace, other than the tracker's, that contains a process of the job. */
struct network_namespace {
    char name[32];             /* "net:[4026531840]" */
    struct cached_file counts; /* net/dev; readable even after the last process has exited */
    uint64_t bytes[NETWORK_COUNTS];
};

enum { NETWORK_NAMESPACES_MAX = 8 };

/* The addresses with the most bytes. */
struct network_remotes {
    struct network_peer list[10];
    size_t count;
};

struct job_network {
    /* For the caller to read. */
    const char *reason; /* why nothing is measured; static; NULL: sockets are measured */
    uint64_t bytes[NETWORK_COUNTS];
    /* Bytes of sockets that may have belonged to the job, and bytes not counted as data because
     * they may be FINs. */
    uint64_t uncertain_bytes[NETWORK_COUNTS], mark_bytes[NETWORK_COUNTS];
    uint64_t connections, uncertain_connections;
    bool is_bounded;  /* every destroyed socket was reported */
    bool is_finished; /* the last reading was made, and its bounds hold */
    struct network_peer peers[NETWORK_PEERS_MAX];
    size_t peer_count;

    /* Private. */
    int reports_fd, requests_fd; /* -1: closed */
    struct {
        struct network_socket *list; /* owned */
        size_t count, capacity;
    } sockets;
    struct {
        struct network_owner *slots; /* owned */
        size_t slot_count, count;    /* the first is a power of two */
    } owners;
    struct network_inodes inodes, previous; /* sorted; as of the last look and the one before */
    struct {
        struct tcp_socket *list; /* owned */
        size_t count, capacity;
    } found;                       /* sockets of a list whose owner is unknown */
    pid_t listed_pid;              /* the process whose files are being listed */
    bool has_new;                  /* a process got a TCP socket since the last list */
    bool has_awaited;              /* a process holds a TCP socket that no list contained */
    bool has_unsettled;            /* the owner of a socket is not known yet */
    bool is_denied;                /* the files of a process could not be listed */
    uint64_t looked_cpu_ns;        /* CPU time of the job at the last look */
    uint64_t due_ns;               /* time of the next look */
    uint64_t empty_gap_ns;         /* gap between looks while the job has no TCP socket */
    uint64_t looked_started_count; /* processes that had been started at the last look */
    uint64_t affordable_ns;        /* the budget refuses looks until then, except at a sample */
    uint64_t process_cost_ns;      /* cost of a look at one process */
    uint64_t listed_ns, list_cost_ns, list_gap_ns;
    uint64_t cgroup_id; /* ID of the job cgroup; 0: none */
    char own_namespace[32];
    struct network_namespace namespaces[NETWORK_NAMESPACES_MAX];
    size_t namespace_count;
    struct network_inodes
        inherited;          /* sockets that the tracker holds and held before the job */
    size_t pending_markers; /* sockets of the tracker whose report has not arrived */
};

#define JOB_NETWORK_CLOSED                  \
    {                                       \
        .reports_fd = -1, .requests_fd = -1 \
    }

struct job;

/* Listens for reports. Must be called before the job's program starts. */
void job_open_network(struct job *job, unsigned disabled, uint64_t now_ns);
void job_close_network(struct job *job);

/* Reads the reports; looks for sockets if due and affordable. Returns whether it looked. */
bool job_look_at_network(struct job *job, uint64_t now_ns, bool is_sample);

/* Returns when to look next; UINT64_MAX: with the next glance. */
uint64_t job_network_due_ns(const struct job *job);

/* Updates the counts for a sample. `is_last`: waits for pending reports, if there can be any. */
void job_update_network(struct job *job, uint64_t now_ns, bool is_last);

/* Lists the remote addresses with the most bytes, largest first. */
void job_list_remotes(const struct job *job, struct network_remotes *ret);

struct job_reading;
void job_read_network(const struct job *job, struct job_reading *reading);
