/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sampling COUNT - takes COUNT samples of a job whose processes start and exit, and writes a
 * row for each sample to /dev/null. After each hundredth of the samples it prints their number,
 * the CPU time of this process in nanoseconds, its anonymous memory in bytes, and its open
 * descriptors.
 *
 * It uses the real clock, but requests each sample instead of waiting for an interval.
 */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "spoor/spoor.h"

static _Noreturn void die(const char *message)
{
    (void)fprintf(stderr, "sampling: %s\n", message);
    exit(1);
}

/* Starts the job: a process that starts a child every 2 ms. */
static pid_t start_job(void)
{
    static const struct timespec moment = { .tv_nsec = 2000000 };
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) {
        pid_t child = fork();

        if (child == 0)
            _exit(0);
        (void)waitpid(child, NULL, 0);
        (void)nanosleep(&moment, NULL);
    }
}

static int count_descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    int count = -3; /* ".", ".." and the folder's own descriptor */

    while (folder && readdir(folder))
        count++;
    if (folder)
        (void)closedir(folder);
    return count;
}

/* Excludes files and shared memory, because the number of rows that wait for their writer
 * varies. */
static long anonymous_bytes(void)
{
    static const char key[] = "RssAnon:";
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    long kilobytes = -1;

    while (file && fgets(line, sizeof(line), file)) {
        if (strncmp(line, key, sizeof(key) - 1) == 0)
            kilobytes = strtol(line + sizeof(key) - 1, NULL, 10);
    }
    if (kilobytes < 0)
        die("/proc/self/status");
    (void)fclose(file);
    return kilobytes * 1024;
}

static void print_state(long taken)
{
    struct timespec cpu;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
    (void)printf("%ld %lld %ld %d\n", taken, cpu.tv_sec * 1000000000ll + cpu.tv_nsec,
                 anonymous_bytes(), count_descriptors());
    (void)fflush(stdout);
}

static void count_sample(const struct spoor_sample *sample, void *data)
{
    (void)sample;
    ++*(long *)data;
}

int main(int argc, char **argv)
{
    const struct spoor_stream stream = { .path = "/dev/null", .format = "csv" };
    struct spoor_options options = SPOOR_OPTIONS_INIT;
    long wanted = argc == 2 ? strtol(argv[1], NULL, 10) : 0, taken = 0;
    spoor_session *session = NULL;
    struct spoor_error err = { 0 };

    options.pid = start_job();
    options.interval_ns = SPOOR_INTERVAL_MAX_NS;
    options.sample_seen = count_sample;
    options.sample_data = &taken;
    options.streams = &stream;
    options.stream_count = 1;
    if (spoor_session_open(&options, &session, &err) < 0 ||
        spoor_session_start(session, &err) < 0)
        die(err.message);
    for (long i = 1; i <= wanted; i++) {
        if (spoor_session_sample(session, &err) < 0)
            die(err.message);
        if (i % (wanted / 100) == 0)
            print_state(i);
    }
    if (spoor_session_stop(session, &err) < 0)
        die(err.message);
    if (taken < wanted)
        die("samples are missing");
    (void)spoor_session_close(session);
    (void)kill(options.pid, SIGKILL);
    return 0;
}
