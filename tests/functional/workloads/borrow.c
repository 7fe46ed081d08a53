/* SPDX-License-Identifier: Apache-2.0 */
/*
 * borrow MIB HOW - touches that much memory and starts a child that shares it. HOW is "vfork",
 * which suspends the parent until the child calls exec or exits, or "clone", which does not.
 * The child prints a line, waits for a line on stdin and executes a shell, which does the same; if
 * HOW ends in "-exit", it exits instead. The parent then prints a line and waits for a line, too.
 */
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static int calls_exec = 1;

static void wait_for_line(void)
{
    char byte = 0;

    while (byte != '\n' && read(STDIN_FILENO, &byte, 1) > 0)
        ;
}

static int run_child(void *unused)
{
    (void)unused;
    if (write(STDOUT_FILENO, "borrowing\n", 10) != 10)
        _exit(1);
    wait_for_line();
    if (calls_exec)
        execl("/bin/sh", "sh", "-c", "echo executed; read line", (char *)NULL);
    _exit(0);
}

int main(int argc, char **argv)
{
    static char stack[65536] __attribute__((aligned(16)));
    size_t size = (argc > 1 ? strtoul(argv[1], NULL, 10) : 1) << 20;
    char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const char *how = argc > 2 ? argv[2] : "vfork";
    int flags = strncmp(how, "vfork", 5) == 0 ? CLONE_VFORK : 0;
    pid_t pid;

    if (memory == MAP_FAILED)
        return 1;
    memset(memory, 1, size);
    calls_exec = !strstr(how, "-exit");
    pid = clone(run_child, stack + sizeof(stack), CLONE_VM | SIGCHLD | flags, NULL);
    if (pid < 0 || waitpid(pid, NULL, 0) != pid)
        return 1;
    munmap(memory, size);
    if (write(STDOUT_FILENO, "waited\n", 7) != 7)
        return 1;
    wait_for_line();
    return 0;
}
