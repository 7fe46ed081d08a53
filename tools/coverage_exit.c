/* SPDX-License-Identifier: Apache-2.0 */
/*
 * coverage_exit.c - counts of processes that end without exit(). tools/coverage links it into all programs, with
 * --wrap for both functions: children that work for the tracker end by _exit() or by the system call, and gcov
 * writes its counts in exit() only.
 */
#include <stdarg.h>
#include <sys/syscall.h>

extern void __gcov_dump(void), __gcov_reset(void);
extern _Noreturn void __real__exit(int status);
extern long __real_syscall(long number, ...);
_Noreturn void __wrap__exit(int status);
long __wrap_syscall(long number, ...);

/* A child may share its memory with its parent, which goes on to count: hence the reset. */
static void write_counts(void)
{
    __gcov_dump();
    __gcov_reset();
}

void __wrap__exit(int status)
{
    write_counts();
    __real__exit(status);
}

/* Like that of the C library, it passes on six arguments whatever the number of those given. */
long __wrap_syscall(long number, ...)
{
    long argument[6];
    va_list list;

    va_start(list, number);
    for (int i = 0; i < 6; i++)
        argument[i] = va_arg(list, long);
    va_end(list);
    if (number == SYS_exit_group)
        write_counts();
    return __real_syscall(number, argument[0], argument[1], argument[2], argument[3],
                          argument[4], argument[5]);
}
