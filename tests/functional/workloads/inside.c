/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inside - prints everything that depends on how a process was started: descriptors,
 * environment, signals, limits, groups, working directory, terminal. Two processes started in
 * the same way print the same.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static void print_descriptors(void)
{
    for (int fd = 0; fd < 4096; fd++) {
        char path[64], target[4096];
        ssize_t length;

        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        length = readlink(path, target, sizeof(target));
        if (length < 0)
            continue;
        printf("fd %d %.*s flags %x %x tty %d\n", fd, (int)length, target,
               (unsigned)fcntl(fd, F_GETFD), (unsigned)fcntl(fd, F_GETFL), isatty(fd));
    }
}

/* Prints the lines of /proc/self/status that depend on the parent. */
static void print_status(void)
{
    static const char *const keys[] = { "Umask",    "Uid",           "Gid",      "Groups",
                                        "SigQ",     "SigPnd",        "ShdPnd",   "SigBlk",
                                        "SigIgn",   "SigCgt",        "Cap",      "NoNew",
                                        "Seccomp:", "Cpus_allowed:", "TracerPid" };
    FILE *file = fopen("/proc/self/status", "re");
    char line[4096];

    while (file && fgets(line, sizeof(line), file)) {
        for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
            if (strncmp(line, keys[i], strlen(keys[i])) == 0 && strncmp(line, "SigQ", 4) != 0)
                fputs(line, stdout);
        }
    }
    if (file)
        fclose(file);
}

static void print_file(const char *path)
{
    FILE *file = fopen(path, "re");
    char line[4096];

    printf("%s\n", path);
    while (file && fgets(line, sizeof(line), file))
        fputs(line, stdout);
    if (file)
        fclose(file);
}

int main(int argc, char **argv)
{
    char folder[4096];
    int death_signal = 0;

    for (int i = 0; i < argc; i++)
        printf("argument %s\n", argv[i]);
    print_descriptors();
    for (char **variable = environ; *variable; variable++)
        printf("environment %s\n", *variable);
    print_status();
    print_file("/proc/self/limits");
    print_file("/proc/self/cgroup");
    print_file("/proc/self/oom_score_adj");
    print_file("/proc/self/timerslack_ns");
    prctl(PR_GET_PDEATHSIG, &death_signal);
    printf("session %d group %d terminal group %d\n", (int)getsid(0), (int)getpgrp(),
           (int)tcgetpgrp(STDERR_FILENO));
    printf("nice %d dumpable %d death signal %d\n", getpriority(PRIO_PROCESS, 0),
           prctl(PR_GET_DUMPABLE), death_signal);
    printf("folder %s\n", getcwd(folder, sizeof(folder)));
    return 0;
}
