/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counts faults PAGES CHILDREN - touches PAGES pages in each of CHILDREN children, one after the
 *                                other, or in the process itself if CHILDREN is 0.
 * counts pingpong ROUNDS       - passes a byte to a child and back ROUNDS times.
 *
 * Both start when they read a line, print the page faults (minor, major) and context switches
 * (voluntary, involuntary) that getrusage() has counted since then, and exit at the end of
 * their input.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static int touch(long pages)
{
    size_t size = (size_t)pages * (size_t)sysconf(_SC_PAGESIZE);
    volatile char *memory =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        return 1;
    (void)madvise((void *)memory, size, MADV_NOHUGEPAGE); /* otherwise one fault maps many
                                                           * pages */
    for (size_t i = 0; i < size; i += (size_t)sysconf(_SC_PAGESIZE))
        memory[i] = 1;
    return munmap((void *)memory, size) != 0;
}

static int touch_in_children(long pages, long children)
{
    int status = 0;

    for (long i = 0; i < children && status == 0; i++) {
        pid_t pid = fork();

        if (pid == 0)
            _exit(touch(pages));
        if (pid < 0 || waitpid(pid, &status, 0) != pid)
            return 1;
    }
    return children > 0 ? status != 0 : touch(pages);
}

static int pass(long rounds, int from, int to, int is_first)
{
    char byte = 0;

    for (long i = 0; i < rounds; i++) {
        if (is_first && write(to, &byte, 1) != 1)
            return 1;
        if (read(from, &byte, 1) != 1)
            return 1;
        if (!is_first && write(to, &byte, 1) != 1)
            return 1;
    }
    return 0;
}

static int pingpong(long rounds)
{
    int there[2], back[2], status, r;
    pid_t pid;

    if (pipe(there) < 0 || pipe(back) < 0)
        return 1;
    pid = fork();
    if (pid == 0)
        _exit(pass(rounds, there[0], back[1], 0));
    r = pid < 0 ? 1 : pass(rounds, back[0], there[1], 1);
    return r != 0 || waitpid(pid, &status, 0) != pid || status != 0;
}

/* Minor and major page faults, voluntary and involuntary context switches. */
static void count(long sum[4])
{
    static const int whose[] = { RUSAGE_SELF, RUSAGE_CHILDREN };
    struct rusage usage;

    memset(sum, 0, 4 * sizeof(*sum));
    for (int i = 0; i < 2; i++) {
        getrusage(whose[i], &usage);
        sum[0] += usage.ru_minflt;
        sum[1] += usage.ru_majflt;
        sum[2] += usage.ru_nvcsw;
        sum[3] += usage.ru_nivcsw;
    }
}

int main(int argc, char **argv)
{
    long number = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
    long before[4], after[4];
    int r, byte;

    while ((byte = getchar()) != '\n' && byte != EOF)
        ;
    count(before);
    if (argc > 1 && strcmp(argv[1], "faults") == 0)
        r = touch_in_children(number, argc > 3 ? strtol(argv[3], NULL, 10) : 0);
    else
        r = pingpong(number);
    count(after);
    for (int i = 0; i < 4; i++)
        printf("%ld%c", after[i] - before[i], i < 3 ? ' ' : '\n');
    fflush(stdout);
    while (getchar() != EOF)
        ;
    return r;
}
