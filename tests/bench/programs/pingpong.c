/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pingpong SWITCHES - two processes on one CPU that pass a byte back and forth through pipes, until
 * there have been SWITCHES context switches. Each byte sent is one switch, because the sender then
 * waits for the answer.
 */
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* Pins the process to the last CPU of its affinity mask: the first CPUs serve more
 * interrupts. */
static int pin_to_one_cpu(void)
{
    cpu_set_t allowed, one;
    size_t cpu = CPU_SETSIZE - 1;

    if (sched_getaffinity(0, sizeof(allowed), &allowed) < 0)
        return -1;
    while (cpu > 0 && !CPU_ISSET(cpu, &allowed))
        cpu--;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    return sched_setaffinity(0, sizeof(one), &one);
}

static int answer(int from, int to, long count)
{
    char byte;

    while (count-- > 0) {
        if (read(from, &byte, 1) != 1 || write(to, &byte, 1) != 1)
            return 1;
    }
    return 0;
}

static int ask(int to, int from, long count)
{
    char byte = 0;

    while (count-- > 0) {
        if (write(to, &byte, 1) != 1 || read(from, &byte, 1) != 1)
            return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    long round_trips = argc == 2 ? strtol(argv[1], NULL, 10) / 2 : 0;
    int there[2], back[2], status;
    pid_t pid;

    if (round_trips <= 0 || pin_to_one_cpu() < 0 || pipe2(there, O_CLOEXEC) < 0 ||
        pipe2(back, O_CLOEXEC) < 0)
        return 2;
    pid = fork();
    if (pid == 0)
        _exit(answer(there[0], back[1], round_trips));
    if (pid < 0 || ask(there[1], back[0], round_trips) != 0 || waitpid(pid, &status, 0) < 0)
        return 1;
    return status != 0;
}
