/* SPDX-License-Identifier: Apache-2.0 */
/*
 * generated SEED - a random tree of processes. Each process does a few random things: it holds
 * memory for a while, copies inherited pages, burns CPU time, reads, writes, sleeps, and starts
 * children, which it may or may not wait for. The seed decides what each process does, but not
 * when, so the true memory is counted while the job runs.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ledger.h"
#include "workload.h"

enum { DEPTH_MAX = 3, CHILDREN_MAX = 4, ACTIONS_MAX = 4, PROCESSES_MAX = 40, END_US = 500 };
static const size_t inherited_bytes = 20 * MIB, step_bytes = 262144;

/* A quantity that processes add to and subtract from, and its maximum. */
struct level {
    atomic_long now, most;
};

struct job {
    struct level all; /* bytes, without the memory inherited at fork */
    atomic_long started;
    atomic_llong read, written;
    char *inherited;
    int alive[2]; /* the write end is open in every descendant */
};

/* One process and the state of its random numbers. */
struct node {
    uint64_t random;
    int depth; /* 0: main */
};

static struct job *job;

static uint64_t next_random(struct node *node)
{
    /* xorshift64 */
    node->random ^= node->random << 13;
    node->random ^= node->random >> 7;
    node->random ^= node->random << 17;
    return node->random;
}

static long pick(struct node *node, long least, long most)
{
    return least + (long)(next_random(node) % (uint64_t)(most - least + 1));
}

static void change(struct level *level, long by)
{
    long now = atomic_fetch_add(&level->now, by) + by;
    long most = atomic_load(&level->most);

    while (now > most && !atomic_compare_exchange_weak(&level->most, &most, now))
        ;
}

/* Writes in steps, so that the counted bytes stay close to the written ones. */
static void write_counted(char *memory, size_t bytes)
{
    for (size_t done = 0; done < bytes; done += step_bytes) {
        size_t step = bytes - done < step_bytes ? bytes - done : step_bytes;

        write_pages(memory + done, step);
        change(&job->all, (long)step);
    }
}

static void release_counted(char *memory, size_t bytes)
{
    for (size_t done = 0; done < bytes; done += step_bytes) {
        size_t step = bytes - done < step_bytes ? bytes - done : step_bytes;

        release(memory + done, step);
        change(&job->all, -(long)step);
    }
}

static void have_memory(struct node *node)
{
    size_t bytes = (size_t)pick(node, 4, 160) * step_bytes;
    char *memory = reserve(bytes);

    write_counted(memory, bytes);
    hold_ms(pick(node, 0, 250));
    release_counted(memory, bytes);
}

/* Only for descendants: the main process owns this memory already. */
static void copy_inherited(struct node *node)
{
    size_t bytes = (size_t)pick(node, 4, 40) * step_bytes;

    write_counted(job->inherited, bytes);
    hold_ms(pick(node, 0, 150));
    release_counted(job->inherited, bytes); /* frees the copy, not the original */
}

static void use_cpu_and_files(struct node *node)
{
    size_t in = (size_t)pick(node, 0, 60) * MB, out = (size_t)pick(node, 0, 20) * MB;

    burn_ms(pick(node, 1, 60));
    read_zeros(in);
    write_nowhere(out);
    atomic_fetch_add(&job->read, (long long)in);
    atomic_fetch_add(&job->written, (long long)out);
}

static void live(struct node *node);

static void act(void *data)
{
    long own_bytes = (long)private_bytes();

    signal(SIGCHLD, SIG_DFL); /* an ignored SIGCHLD is inherited */
    close(job->alive[0]);
    change(&job->all, own_bytes);
    live(data);
    release(job->inherited, inherited_bytes); /* otherwise its exit would cost CPU time that no
                                               * clock shows */
    change(&job->all, -own_bytes);
}

/* In three of five cases the parent waits for its children. Otherwise the kernel reaps them, or
 * they become orphans if they outlive their parent. */
static void have_children(struct node *node)
{
    long count = pick(node, 1, CHILDREN_MAX), kind = pick(node, 0, 4);
    bool is_waited = kind > 1, is_ignored = kind == 0;
    pid_t pids[CHILDREN_MAX];

    if (is_ignored)
        signal(SIGCHLD, SIG_IGN);
    for (long i = 0; i < count; i++) {
        struct node child = { next_random(node) | 1, node->depth + 1 };

        atomic_fetch_add(&job->started, 1);
        pids[i] = start(act, &child);
    }
    for (long i = 0; is_waited && i < count; i++)
        wait_for(pids[i]);
    while (is_ignored && (wait(NULL) > 0 || errno == EINTR))
        ;
    signal(SIGCHLD, SIG_DFL);
}

static void live(struct node *node)
{
    bool has_copied = node->depth == 0;

    for (long left = pick(node, 1, ACTIONS_MAX); left > 0; left--) {
        switch (pick(node, 0, 4)) {
        case 0:
            have_memory(node);
            break;
        case 1:
            if (!has_copied)
                copy_inherited(node);
            has_copied = true;
            break;
        case 2:
            use_cpu_and_files(node);
            break;
        case 3:
            hold_ms(pick(node, 5, 300));
            break;
        default:
            if (node->depth < DEPTH_MAX && !(has_copied && node->depth > 0) &&
                atomic_load(&job->started) < PROCESSES_MAX)
                have_children(node);
        }
    }
}

static void note_truth(double base)
{
    double inherited = (double)inherited_bytes;

    ledger_set(PEAK_RSS_BYTES, base + inherited + (double)atomic_load(&job->all.most));
    ledger_set(SHARED_BYTES_AT_MOST, base + inherited);
    ledger_set(READ_CHARS, (double)atomic_load(&job->read));
    ledger_set(WRITTEN_CHARS, (double)atomic_load(&job->written));
    ledger_set(PROCESSES, (double)atomic_load(&job->started));
    ledger_set(UNSEEN_CPU_MICROSECONDS, END_US * (double)atomic_load(&job->started));
}

int main(int argc, char **argv)
{
    struct node main_node = { .depth = 0 };
    double base;
    char byte;

    ledger_open();
    job = shared_memory(sizeof(*job));
    main_node.random =
        (uint64_t)number_argument(argc, argv, 1) * UINT64_C(0x9e3779b97f4a7c15) + 1;
    base = resident_bytes();
    if (pipe2(job->alive, O_CLOEXEC) < 0)
        ledger_fail("pipe");
    job->inherited = touch(inherited_bytes);
    atomic_fetch_add(&job->started, 1);
    for (int i = 0; i < 2; i++) {
        have_children(&main_node);
        live(&main_node);
    }
    close(job->alive[1]);
    signal(SIGCHLD, SIG_IGN); /* reaps the children that were not waited for */
    while (read(job->alive[0], &byte, 1) < 0 && errno == EINTR)
        ;
    release(job->inherited, inherited_bytes);
    note_truth(base);
    ledger_burn_to_ms(ENOUGH_CPU_MS);
    ledger_add_own_cpu();
    ledger_close();
    return 0;
}
