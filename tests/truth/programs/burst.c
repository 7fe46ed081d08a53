/* SPDX-License-Identifier: Apache-2.0 */
/*
 * burst COUNT MEGABYTES MILLISECONDS rest|busy|short waiting|new|unwaited [BEFORE_MS] - COUNT
 * processes grow at the same time, keep their memory, and free it MILLISECONDS after they began
 * to grow.
 *
 * Before that, for a second or BEFORE_MS, the job sleeps ("rest"), two other processes compute
 * ("busy"), or short processes start and exit all the time ("short"); the latter two continue
 * during the burst. The growing processes exist from the start ("waiting"), are forked for the
 * burst ("new"), or are forked for it by a parent that ignores SIGCHLD ("unwaited").
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ledger.h"
#include "workload.h"

enum { COUNT_MAX = 64, BUSY_PROCESSES = 2, SHORT_MS = 2 };

struct burst {
    long count, milliseconds;
    size_t bytes;
    meeting *place;            /* where the growing processes meet */
    meeting *start;            /* where they meet their parent */
    atomic_long private_bytes; /* sum over all children, before they grow */
    atomic_bool is_over;
    atomic_long short_count;
    int alive[2]; /* the write end is open in every growing process */
};

static double now_ms(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

static void act_in_burst(void *data)
{
    struct burst *burst = data;
    double began_ms, left_ms;
    char *memory;

    atomic_fetch_add(&burst->private_bytes, (long)private_bytes());
    meet(burst->start);
    meet(burst->place);
    began_ms = now_ms();
    memory = touch(burst->bytes);
    meet(burst->place); /* all have grown */
    left_ms = began_ms + (double)burst->milliseconds - now_ms();
    /* On a slow machine, growing may use up all of the time. */
    if (left_ms < (double)burst->milliseconds / 4)
        left_ms = (double)burst->milliseconds / 4;
    hold_ms((long)left_ms);
    release(memory, burst->bytes);
}

static void act_busy(void *data)
{
    struct burst *burst = data;

    close(burst->alive[1]);
    atomic_fetch_add(&burst->private_bytes, (long)private_bytes());
    while (!atomic_load(&burst->is_over))
        burn_ms(1);
}

static void act_short(void *data)
{
    (void)data;
    burn_ms(SHORT_MS);
}

static void act_as_starter(void *data)
{
    struct burst *burst = data;

    close(burst->alive[1]);
    atomic_fetch_add(&burst->private_bytes, (long)private_bytes());
    while (!atomic_load(&burst->is_over)) {
        wait_for(start(act_short, burst));
        atomic_fetch_add(&burst->short_count, 1);
    }
}

/* Starts the other processes of the job and returns their number. */
static long start_others(struct burst *burst, const char *kind, pid_t *pids)
{
    long count = 0;

    if (strcmp(kind, "short") == 0)
        pids[count++] = start(act_as_starter, burst);
    for (; strcmp(kind, "busy") == 0 && count < BUSY_PROCESSES; count++)
        pids[count] = start(act_busy, burst);
    return count;
}

static void start_growing(struct burst *burst, pid_t *pids)
{
    for (long i = 0; i < burst->count; i++)
        pids[i] = start(act_in_burst, burst);
}

/* Waits for end of file on the pipe: the last growing process has exited. */
static void wait_for_end(const struct burst *burst)
{
    char byte;

    close(burst->alive[1]);
    while (read(burst->alive[0], &byte, 1) < 0 && errno == EINTR)
        ;
}

static void note_truth(struct burst *burst, double base, long others)
{
    double private = (double)atomic_load(&burst->private_bytes) +
                     (double)burst->bytes * (double)burst->count;
    long shorts = atomic_load(&burst->short_count);

    ledger_set(PEAK_RSS_BYTES, base + private);
    ledger_set(DESCENDANTS_RSS_BYTES, base + private);
    ledger_set(MAIN_RSS_BYTES, base);
    ledger_set(PRIVATE_BYTES, private);
    ledger_set(ANON_BYTES, private);
    ledger_set(PROCESSES, (double)(1 + burst->count + others + shorts));
    ledger_set(CONCURRENT, (double)(1 + burst->count + others + (shorts > 0 ? 1 : 0)));
}

int main(int argc, char **argv)
{
    struct burst *burst = shared_memory(sizeof(*burst));
    const char *kind = argc > 5 ? argv[4] : "", *life = argc > 5 ? argv[5] : "";
    pid_t pids[COUNT_MAX], other_pids[BUSY_PROCESSES];
    long before_ms = argc > 6 ? number_argument(argc, argv, 6) : 1000;
    bool is_waited = strcmp(life, "unwaited") != 0;
    long others;
    double base;

    ledger_open();
    burst->count = number_argument(argc, argv, 1);
    burst->bytes = (size_t)number_argument(argc, argv, 2) * MB;
    burst->milliseconds = number_argument(argc, argv, 3);
    if (burst->count > COUNT_MAX || pipe2(burst->alive, O_CLOEXEC) < 0)
        ledger_fail("burst");
    burst->place = meeting_of((unsigned)burst->count);
    burst->start = meeting_of((unsigned)burst->count + 1);
    others = start_others(burst, kind, other_pids);
    base = resident_bytes();
    if (strcmp(life, "waiting") == 0)
        start_growing(burst, pids);
    hold_ms(before_ms);
    if (!is_waited)
        signal(SIGCHLD, SIG_IGN);
    if (strcmp(life, "waiting") != 0)
        start_growing(burst, pids);
    meet(burst->start);
    for (long i = 0; is_waited && i < burst->count; i++)
        wait_for(pids[i]);
    if (!is_waited) {
        wait_for_end(burst);
        signal(SIGCHLD, SIG_DFL);
    }
    atomic_store(&burst->is_over, true);
    for (long i = 0; i < others; i++)
        wait_for(other_pids[i]);
    note_truth(burst, base, others);
    hold_ms(100);
    ledger_add_own_cpu();
    ledger_close();
    return 0;
}
