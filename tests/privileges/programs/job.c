/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job - a job that measures its own usage. When it reads a line, it uses 64 MiB and 0.2 s of
 * CPU time while a child uses 32 MiB and 0.1 s. It prints the CPU seconds of both processes,
 * according to their clocks, and exits when it reads another line.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double cpu_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Uses memory and CPU time. Deliberately does not free the memory. */
static void use(size_t mib, double seconds)
{
    volatile char *memory = malloc(mib << 20);

    if (!memory)
        _exit(1);
    for (size_t i = 0; i < mib << 20; i += 4096)
        memory[i] = 1;
    while (cpu_seconds() < seconds)
        continue;
}

/* Reports the child's usage, and exits when the other end of `until` is closed. */
static void run_child(int say, int until)
{
    double used;
    char byte;

    use(32, 0.1);
    used = cpu_seconds();
    if (write(say, &used, sizeof(used)) != sizeof(used))
        _exit(1);
    _exit(read(until, &byte, 1) != 0);
}

int main(void)
{
    int said[2], until[2];
    double of_child;
    pid_t child;

    if (getchar() == EOF || pipe(said) < 0 || pipe(until) < 0)
        return 1;
    child = fork();
    if (child == 0) {
        close(until[1]);
        run_child(said[1], until[0]);
    }
    use(64, 0.2);
    if (child < 0 || read(said[0], &of_child, sizeof(of_child)) != sizeof(of_child))
        return 1;
    printf("%.6f\n", cpu_seconds() + of_child);
    fflush(stdout);
    getchar();
    close(until[1]);
    return waitpid(child, NULL, 0) == child ? 0 : 1;
}
