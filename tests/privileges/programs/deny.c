/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deny ERROR CALL[,CALL...] COMMAND [ARGUMENT...] - runs a command whose calls of some system
 * calls fail.
 *
 * ERROR is EPERM, EACCES or ENOSYS; each CALL is a name from the table below. Children inherit
 * the filter, as in a container.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static const struct {
    const char *name;
    int number;
} errors[] = { { "EPERM", EPERM }, { "EACCES", EACCES }, { "ENOSYS", ENOSYS } };

static const struct {
    const char *name;
    unsigned number;
} calls[] = {
    { "perf_event_open", SYS_perf_event_open },
    { "pidfd_open", SYS_pidfd_open },
    { "pidfd_send_signal", SYS_pidfd_send_signal },
    { "kcmp", SYS_kcmp },
};

static void fail(const char *what)
{
    fprintf(stderr, "deny: %s\n", what);
    exit(125);
}

static unsigned error_of(const char *name)
{
    for (size_t i = 0; i < COUNT(errors); i++) {
        if (strcmp(name, errors[i].name) == 0)
            return (unsigned)errors[i].number;
    }
    fail("unknown error");
    return 0;
}

static unsigned call_of(const char *name)
{
    for (size_t i = 0; i < COUNT(calls); i++) {
        if (strcmp(name, calls[i].name) == 0)
            return calls[i].number;
    }
    fail("unknown system call");
    return 0;
}

int main(int argc, char **argv)
{
    struct sock_filter filter[2 + 2 * COUNT(calls)];
    unsigned short count = 0;
    struct sock_fprog program = { .filter = filter };
    unsigned error;
    char *list, *name;

    if (argc < 4)
        fail("usage: deny ERROR CALL[,CALL...] COMMAND [ARGUMENT...]");
    error = error_of(argv[1]);
    list = argv[2];
    filter[count++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                                   offsetof(struct seccomp_data, nr));
    while ((name = strsep(&list, ",")) && count + 3u <= COUNT(filter)) {
        filter[count++] =
            (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call_of(name), 0, 1);
        filter[count++] =
            (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error);
    }
    filter[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    program.len = count;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
        fail(strerror(errno));
    execvp(argv[3], argv + 3);
    fail(strerror(errno));
}
