/* SPDX-License-Identifier: Apache-2.0 */
/* die SIGNAL - kills itself by a signal, without writing a core file. */
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int number = argc > 1 ? (int)strtol(argv[1], NULL, 10) : SIGKILL;
    struct rlimit none = { 0, 0 };

    setrlimit(RLIMIT_CORE, &none);
    signal(number, SIG_DFL);
    kill(getpid(), number);
    return 99;
}
