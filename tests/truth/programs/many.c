/* SPDX-License-Identifier: Apache-2.0 */
/*
 * many COUNT MILLISECONDS wait|ignore - short processes, four at a time, that burn CPU time.
 * With "ignore", their parent ignores SIGCHLD, so that no process receives their usage.
 *
 * A process reads its clock before it exits, and the exit costs CPU time, too. A few processes
 * that are waited for measure how much.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ledger.h"
#include "workload.h"

enum { AT_ONCE = 4, TRIALS = 10 };

struct many {
    long milliseconds;
    int tokens[2]; /* a byte for each process that may start */
};

static void act(void *data)
{
    struct many *many = data;

    burn_ms(many->milliseconds);
    if (write(many->tokens[1], "x", 1) != 1)
        ledger_fail("token");
}

static void wait_for_all(void)
{
    while (wait(NULL) > 0 || errno == EINTR)
        ;
}

/* Microseconds of CPU time that the exit of one such process takes. */
static double measure_end(struct many *many)
{
    int64_t noted_ns = ledger_cpu_ns(), waited_ns = waited_cpu_ns();
    char token;

    for (int i = 0; i < TRIALS; i++) {
        waitpid(start(act, many), NULL, 0); /* not wait_for(), which adds the exit */
        if (read(many->tokens[0], &token, 1) != 1)
            ledger_fail("token");
    }
    noted_ns = ledger_cpu_ns() - noted_ns;
    waited_ns = waited_cpu_ns() - waited_ns;
    return waited_ns > noted_ns ? (double)(waited_ns - noted_ns) / TRIALS / 1e3 : 0;
}

int main(int argc, char **argv)
{
    long count = number_argument(argc, argv, 1);
    struct many many = { .milliseconds = number_argument(argc, argv, 2) };
    double end_us;
    char token;

    ledger_open();
    if (pipe2(many.tokens, O_CLOEXEC) < 0)
        ledger_fail("pipe");
    end_us = measure_end(&many);
    if (argc > 3 && strcmp(argv[3], "ignore") == 0)
        signal(SIGCHLD, SIG_IGN);
    for (long i = 0; i < count; i++) {
        if (i >= AT_ONCE && read(many.tokens[0], &token, 1) != 1)
            ledger_fail("token");
        start(act, &many);
        if (argc > 3 && strcmp(argv[3], "wait") == 0) {
            while (waitpid(-1, NULL, WNOHANG) > 0)
                ;
        }
    }
    wait_for_all();
    ledger_set(PROCESSES, (double)(count + TRIALS) + 1);
    ledger_set(UNSEEN_CPU_MICROSECONDS, (double)(count + TRIALS) * end_us);
    ledger_add_own_cpu();
    ledger_close();
    return 0;
}
