/* SPDX-License-Identifier: Apache-2.0 */
/*
 * measured FILE COMMAND [ARGUMENT...] - runs a command and writes one line to FILE, in seconds:
 * the wall time of the command, its CPU time including the children that it waited for, and the
 * CPU time of this program since it was forked. Exits with the status of the command.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double wall_seconds(void)
{
    struct timespec now = { 0 };

    (void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail */
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double cpu_seconds(int who)
{
    struct rusage usage = { 0 };

    (void)getrusage(who, &usage); /* cannot fail */
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

int main(int argc, char **argv)
{
    double started = wall_seconds();
    int status;
    pid_t pid;
    FILE *file;

    if (argc < 3)
        return 2;
    pid = fork();
    if (pid == 0) {
        execvp(argv[2], argv + 2);
        perror(argv[2]);
        _exit(127);
    }
    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR)
            return 125;
    }
    file = fopen(argv[1], "we");
    if (!file)
        return 125;
    fprintf(file, "%.9f %.6f %.6f\n", wall_seconds() - started, cpu_seconds(RUSAGE_CHILDREN),
            cpu_seconds(RUSAGE_SELF));
    if (fclose(file) != 0)
        return 125;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
