/* SPDX-License-Identifier: Apache-2.0 */
/* storm COUNT - runs /bin/true COUNT times in a row. */
#include <spawn.h>
#include <stdlib.h>
#include <unistd.h>

#include "ledger.h"
#include "workload.h"

int main(int argc, char **argv)
{
    char *arguments[] = { (char[]){ "true" }, NULL };
    long count;
    pid_t pid;

    ledger_open();
    count = number_argument(argc, argv, 1);
    for (long i = 0; i < count; i++) {
        if (posix_spawn(&pid, "/bin/true", NULL, NULL, arguments, environ) != 0)
            ledger_fail("/bin/true");
        wait_for(pid);
    }
    ledger_set(PROCESSES, (double)count + 1);
    ledger_set(CONCURRENT, 2);
    ledger_add_waited_cpu();
    ledger_add_own_cpu();
    ledger_close();
    return 0;
}
