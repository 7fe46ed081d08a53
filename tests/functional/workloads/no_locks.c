/* SPDX-License-Identifier: Apache-2.0 */
/* no_locks.c - a library to preload that makes file locks fail, as on NFS without a lock
 * daemon. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>

static int refuse_lock(int command, const char *name, int fd, void *argument)
{
    int (*next)(int, int, ...) = (int (*)(int, int, ...))dlsym(RTLD_NEXT, name);

    if (command == F_OFD_SETLK || command == F_OFD_SETLKW || command == F_SETLK ||
        command == F_SETLKW) {
        errno = ENOLCK;
        return -1;
    }
    return next(fd, command, argument);
}

int fcntl(int fd, int command, ...)
{
    va_list arguments;
    void *argument;

    va_start(arguments, command);
    argument = va_arg(arguments, void *);
    va_end(arguments);
    return refuse_lock(command, "fcntl", fd, argument);
}

int fcntl64(int fd, int command, ...)
{
    va_list arguments;
    void *argument;

    va_start(arguments, command);
    argument = va_arg(arguments, void *);
    va_end(arguments);
    return refuse_lock(command, "fcntl64", fd, argument);
}
