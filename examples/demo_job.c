/* SPDX-License-Identifier: Apache-2.0 */
/*
 * demo_job.c - a job of about five seconds whose phases are visible in its curves.
 *
 *     second 0 to 1   reading: little CPU, little memory
 *            1 to 2   loading: memory grows in steps to 256 MiB
 *            2 to 4   computing: two workers, 64 MiB each
 *            4 to 5   writing: 64 MiB to a temporary file
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MIB = 1 << 20, STEPS = 16, WORKERS = 2 };

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void rest(double seconds)
{
    struct timespec time = { .tv_sec = 0, .tv_nsec = (long)(seconds * 1e9) };

    nanosleep(&time, NULL);
}

/* Keeps one CPU busy for a while. */
static void compute(double seconds)
{
    double end = now() + seconds;
    volatile unsigned work = 0;

    while (now() < end) {
        for (int i = 0; i < 100000; i++)
            work = work * 31 + 7;
    }
}

/* Touches the pages from `from` to `to`, so that they are resident. Accepts NULL. */
static char *grow(char *memory, size_t from, size_t to)
{
    volatile char *bytes = memory;

    for (size_t i = from; bytes && i < to; i += 4096)
        bytes[i] = 1;
    return memory;
}

static void say(const char *phase)
{
    printf("demo: %s\n", phase);
    fflush(stdout);
}

static void read_phase(void)
{
    for (int i = 0; i < 10; i++) {
        compute(0.02);
        rest(0.08);
    }
}

static char *load_phase(void)
{
    char *data = malloc((size_t)256 * MIB);

    for (size_t i = 0; i < STEPS; i++) {
        grow(data, i * 16 * MIB, (i + 1) * 16 * MIB);
        rest(0.05);
    }
    return data;
}

static void work_phase(void)
{
    for (int i = 0; i < WORKERS; i++) {
        if (fork() == 0) {
            size_t size = (size_t)64 * MIB;
            char *own = grow(malloc(size), 0, size);

            compute(2);
            free(own);
            _exit(own ? 0 : 1);
        }
    }
    while (wait(NULL) > 0)
        ;
}

static void write_phase(char *data)
{
    FILE *file = tmpfile();

    for (int i = 0; data && file && i < 8; i++) {
        fwrite(data, MIB, 8, file);
        rest(0.1);
    }
    if (file)
        fclose(file);
}

int main(void)
{
    char *data;

    say("reading");
    read_phase();
    say("loading");
    data = load_phase();
    say("computing with two workers");
    work_phase();
    say("writing");
    write_phase(data);
    free(data);
    return 0;
}
