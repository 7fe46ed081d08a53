/* SPDX-License-Identifier: Apache-2.0 */
/* failing_calls.c - the failing calls other than allocations; see failing.c. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "failing.h"

#pragma GCC visibility push(default)

/* Functions that the fortified headers call instead. */
int __open64_2(const char *path, int flags);
int __openat64_2(int folder, const char *path, int flags);
ssize_t __pread64_chk(int fd, void *buf, size_t size, off64_t offset, size_t buf_size);

/* ---- open, stat, fd, thread, fork, wait --------------------------------------- */

/* Defines a wrapper that returns `failure` if the call must fail. */
#define WRAP(kind, type, name, parameters, arguments, failure)  \
    type name parameters                                        \
    {                                                           \
        NEXT(name);                                             \
        return failing_hits(kind) ? (failure) : next arguments; \
    }

/* Defines wrappers of functions with a mode after the flags. */
#define WRAP_OPEN(name, parameters, arguments)                             \
    int name parameters                                                    \
    {                                                                      \
        NEXT(name);                                                        \
        va_list list;                                                      \
        unsigned mode;                                                     \
                                                                           \
        va_start(list, flags);                                             \
        mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(list, unsigned) : 0; \
        va_end(list);                                                      \
        return failing_hits("open") ? failing_fail() : next arguments;     \
    }

WRAP_OPEN(open, (const char *path, int flags, ...), (path, flags, mode))
WRAP_OPEN(open64, (const char *path, int flags, ...), (path, flags, mode))
WRAP_OPEN(openat, (int folder, const char *path, int flags, ...), (folder, path, flags, mode))
WRAP_OPEN(openat64, (int folder, const char *path, int flags, ...), (folder, path, flags, mode))

int __open64_2(const char *path, int flags)
{
    return open64(path, flags);
}

int __openat64_2(int folder, const char *path, int flags)
{
    return openat64(folder, path, flags);
}

WRAP("open", FILE *, fopen, (const char *path, const char *mode), (path, mode), failing_null())
WRAP("open", FILE *, fopen64, (const char *path, const char *mode), (path, mode),
     failing_null())
WRAP("open", DIR *, opendir, (const char *path), (path), failing_null())
WRAP("open", DIR *, fdopendir, (int fd), (fd), failing_null())
WRAP("open", int, getifaddrs, (struct ifaddrs * *list), (list), failing_fail())
WRAP("open", int, scandir64,
     (const char *path, struct dirent64 ***list, int (*filter)(const struct dirent64 *),
      int (*compare)(const struct dirent64 **, const struct dirent64 **)),
     (path, list, filter, compare), failing_fail())

WRAP("stat", int, stat64, (const char *path, struct stat64 *ret), (path, ret), failing_fail())
WRAP("stat", int, lstat64, (const char *path, struct stat64 *ret), (path, ret), failing_fail())
WRAP("stat", int, fstat64, (int fd, struct stat64 *ret), (fd, ret), failing_fail())
WRAP("stat", int, fstatat64, (int fd, const char *path, struct stat64 *ret, int flags),
     (fd, path, ret, flags), failing_fail())
WRAP("stat", int, statvfs64, (const char *path, struct statvfs64 *ret), (path, ret),
     failing_fail())
WRAP("stat", int, access, (const char *path, int mode), (path, mode), failing_fail())
WRAP("stat", int, faccessat, (int fd, const char *path, int mode, int flags),
     (fd, path, mode, flags), failing_fail())
WRAP("stat", char *, realpath, (const char *path, char *ret), (path, ret), failing_null())

WRAP("fd", int, pipe2, (int fds[2], int flags), (fds, flags), failing_fail())
WRAP("fd", int, socket, (int domain, int type, int protocol), (domain, type, protocol),
     failing_fail())
WRAP("fd", int, socketpair, (int domain, int type, int protocol, int fds[2]),
     (domain, type, protocol, fds), failing_fail())
WRAP("fd", int, eventfd, (unsigned count, int flags), (count, flags), failing_fail())
WRAP("fd", int, signalfd, (int fd, const sigset_t *set, int flags), (fd, set, flags),
     failing_fail())
WRAP("fd", int, memfd_create, (const char *name, unsigned flags), (name, flags), failing_fail())
WRAP("fd", int, accept4, (int fd, struct sockaddr *address, socklen_t *size, int flags),
     (fd, address, size, flags), failing_fail())

WRAP("thread", int, pthread_create,
     (pthread_t * thread, const pthread_attr_t *attributes, void *(*run)(void *), void *data),
     (thread, attributes, run, data), failing_how)

WRAP("fork", pid_t, fork, (void), (), failing_fail())
WRAP("fork", int, posix_spawn,
     (pid_t * pid, const char *path, const posix_spawn_file_actions_t *actions,
      const posix_spawnattr_t *attributes, char *const argv[], char *const environment[]),
     (pid, path, actions, attributes, argv, environment), failing_how)
WRAP("fork", int, posix_spawnp,
     (pid_t * pid, const char *path, const posix_spawn_file_actions_t *actions,
      const posix_spawnattr_t *attributes, char *const argv[], char *const environment[]),
     (pid, path, actions, attributes, argv, environment), failing_how)

int clone(int (*run)(void *), void *stack, int flags, void *data, ...)
{
    NEXT(clone);
    return failing_hits("fork") ? failing_fail()
                                : next(run, stack, flags, data); /* the program passes no
                                                                  * further arguments */
}

/* A call that returns at once cannot be interrupted. */
static bool is_interrupted(bool returns_at_once)
{
    return !returns_at_once && failing_hits("wait");
}

#define WRAP_WAIT(type, name, parameters, arguments, returns_at_once)             \
    type name parameters                                                          \
    {                                                                             \
        NEXT(name);                                                               \
        return is_interrupted(returns_at_once) ? failing_fail() : next arguments; \
    }

static bool is_zero(const struct timespec *time)
{
    return time && time->tv_sec == 0 && time->tv_nsec == 0;
}

WRAP_WAIT(int, poll, (struct pollfd * fds, nfds_t count, int timeout), (fds, count, timeout),
          timeout == 0)
WRAP_WAIT(int, ppoll,
          (struct pollfd * fds, nfds_t count, const struct timespec *timeout,
           const sigset_t *mask),
          (fds, count, timeout, mask), is_zero(timeout))
WRAP_WAIT(int, nanosleep, (const struct timespec *time, struct timespec *left), (time, left),
          is_zero(time))
WRAP_WAIT(int, sigtimedwait,
          (const sigset_t *set, siginfo_t *info, const struct timespec *timeout),
          (set, info, timeout), is_zero(timeout))
WRAP_WAIT(int, waitid, (idtype_t type, id_t id, siginfo_t *info, int options),
          (type, id, info, options), options &WNOHANG)
WRAP_WAIT(pid_t, waitpid, (pid_t pid, int *status, int options), (pid, status, options),
          options &WNOHANG)
WRAP_WAIT(pid_t, wait4, (pid_t pid, int *status, int options, struct rusage *usage),
          (pid, status, options, usage), options &WNOHANG)

/* Returns the kind of a system call that has no function in the C library. */
static const char *kind_of_system_call(long number)
{
    switch (number) {
    case SYS_clone:
        return "fork";
    case SYS_perf_event_open:
    case SYS_pidfd_open:
        return "fd";
    default:
        return "";
    }
}

long syscall(long number, ...)
{
    NEXT(syscall);
    va_list list;
    long arguments[6];

    va_start(list, number);
    for (size_t i = 0; i < 6; i++)
        arguments[i] = va_arg(list, long);
    va_end(list);
    if (failing_hits(kind_of_system_call(number)))
        return failing_fail();
    return next(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4],
                arguments[5]);
}

/* ---- read, write -------------------------------------------------------------- */

enum { SHORT_BYTES = 7 };

static size_t size_of_short(size_t size)
{
    return size < SHORT_BYTES ? size : SHORT_BYTES;
}

/* Returns whether this kind of file can fail in this way. Any call may be interrupted. Only
 * sockets and stdout can lose their reader. Only files and pipes transfer fewer bytes than
 * requested. Only files run out of space or cannot be read; stderr and stdin do not fail in
 * this way, because the tests need their messages and requests. */
static bool can_fail_so(int fd)
{
    struct stat64 status;
    bool was_busy = failing_is_busy;
    bool is_file = false, is_pipe = false, is_socket = false;
    int domain = AF_NETLINK;
    socklen_t size = sizeof(domain);

    failing_is_busy = true;
    if (fstat64(fd, &status) == 0) {
        is_file = S_ISREG(status.st_mode) || S_ISCHR(status.st_mode);
        is_pipe = S_ISFIFO(status.st_mode);
        is_socket = getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 &&
                    domain != AF_NETLINK; /* the kernel is the reader */
    }
    failing_is_busy = was_busy;
    switch (failing_how) {
    case EINTR:
        return true;
    case EPIPE:
        return is_socket || fd == STDOUT_FILENO;
    case HOW_SHORT:
        return is_file || is_pipe;
    default:
        return is_file && fd != STDERR_FILENO && fd != STDIN_FILENO;
    }
}

#define WRAP_READ(name, parameters, arguments)                                  \
    ssize_t name parameters                                                     \
    {                                                                           \
        NEXT(name);                                                             \
        if (failing_wants("read") && can_fail_so(fd) && failing_hits("read")) { \
            if (failing_how != HOW_SHORT)                                       \
                return failing_how == HOW_EMPTY ? 0 : failing_fail();           \
            size = size_of_short(size);                                         \
        }                                                                       \
        return next arguments;                                                  \
    }

WRAP_READ(read, (int fd, void *buf, size_t size), (fd, buf, size))
WRAP_READ(pread, (int fd, void *buf, size_t size, off_t offset), (fd, buf, size, offset))
WRAP_READ(pread64, (int fd, void *buf, size_t size, off64_t offset), (fd, buf, size, offset))
WRAP_READ(recv, (int fd, void *buf, size_t size, int flags), (fd, buf, size, flags))
WRAP_READ(recvfrom,
          (int fd, void *restrict buf, size_t size, int flags, __SOCKADDR_ARG address,
           socklen_t *restrict address_size),
          (fd, buf, size, flags, address, address_size))
WRAP("read", int, recvmmsg,
     (int fd, struct mmsghdr *messages, unsigned count, int flags, struct timespec *timeout),
     (fd, messages, count, flags, timeout), failing_how < 0 ? 0 : failing_fail())

ssize_t __pread64_chk(int fd, void *buf, size_t size, off64_t offset, size_t buf_size)
{
    (void)buf_size;
    return pread64(fd, buf, size, offset);
}

/* These calls never return part of a name or entry: they fail or return nothing. */
WRAP("read", ssize_t, readlink, (const char *restrict path, char *restrict buf, size_t size),
     (path, buf, size), failing_fail())
WRAP("read", ssize_t, readlinkat,
     (int fd, const char *restrict path, char *restrict buf, size_t size),
     (fd, path, buf, size), failing_fail())
WRAP("read", ssize_t, getdents64, (int fd, void *buf, size_t size), (fd, buf, size),
     failing_how < 0 ? 0 : failing_fail())
WRAP("read", struct dirent64 *, readdir64, (DIR * folder), (folder),
     failing_how < 0 ? NULL : failing_null())

/* Fails as a write without a reader does, which also raises SIGPIPE. A socket stays shut
 * down. */
static int fail_write(int fd, bool has_signal)
{
    if (failing_how == EPIPE) {
        (void)shutdown(fd, SHUT_RDWR);
        if (has_signal)
            (void)raise(SIGPIPE);
    }
    return failing_fail();
}

/* A call that does not wait is not interrupted. */
static bool can_be_interrupted(int flags)
{
    return failing_how != EINTR || !(flags & MSG_DONTWAIT);
}

#define WRAP_WRITE(name, how_flags, parameters, arguments)                                \
    ssize_t name parameters                                                               \
    {                                                                                     \
        NEXT(name);                                                                       \
        if (failing_wants("write") && can_be_interrupted(how_flags) && can_fail_so(fd) && \
            failing_hits("write")) {                                                      \
            if (failing_how != HOW_SHORT)                                                 \
                return fail_write(fd, !((how_flags)&MSG_NOSIGNAL));                       \
            size = size_of_short(size);                                                   \
        }                                                                                 \
        return next arguments;                                                            \
    }

WRAP_WRITE(write, 0, (int fd, const void *buf, size_t size), (fd, buf, size))
WRAP_WRITE(pwrite64, 0, (int fd, const void *buf, size_t size, off64_t offset),
           (fd, buf, size, offset))
WRAP_WRITE(send, flags, (int fd, const void *buf, size_t size, int flags),
           (fd, buf, size, flags))
WRAP_WRITE(sendto, flags,
           (int fd, const void *buf, size_t size, int flags, __CONST_SOCKADDR_ARG address,
            socklen_t address_size),
           (fd, buf, size, flags, address, address_size))

/* Fails only if there is buffered output. */
int fflush(FILE *stream)
{
    NEXT(fflush);
    if (failing_wants("write") && failing_how > 0 && failing_how != EINTR && stream &&
        __fpending(stream) > 0 && can_fail_so(fileno(stream)) && failing_hits("write"))
        return fail_write(fileno(stream), true);
    return next(stream);
}

/* Functions that change files and folders succeed or fail, without a partial result. */
#define WRAP_CHANGE(type, name, parameters, arguments, failure)                             \
    type name parameters                                                                    \
    {                                                                                       \
        NEXT(name);                                                                         \
        return failing_how == ENOSPC && failing_hits("write") ? (failure) : next arguments; \
    }

WRAP_CHANGE(int, ftruncate64, (int fd, off64_t size), (fd, size), failing_fail())
WRAP_CHANGE(int, fallocate64, (int fd, int mode, off64_t offset, off64_t size),
            (fd, mode, offset, size), failing_fail())
WRAP_CHANGE(int, fdatasync, (int fd), (fd), failing_fail())
WRAP_CHANGE(int, mkdir, (const char *path, mode_t mode), (path, mode), failing_fail())
WRAP_CHANGE(int, mkdirat, (int fd, const char *path, mode_t mode), (fd, path, mode),
            failing_fail())
WRAP_CHANGE(char *, mkdtemp, (char *path), (path), failing_null())
WRAP_CHANGE(int, rename, (const char *from, const char *to), (from, to), failing_fail())
WRAP_CHANGE(int, renameat2,
            (int from_fd, const char *from, int to_fd, const char *to, unsigned flags),
            (from_fd, from, to_fd, to, flags), failing_fail())
