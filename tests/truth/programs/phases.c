/* SPDX-License-Identifier: Apache-2.0 */
/*
 * phases - three phases, each of which reads 300 MB, computes for a moment and writes 20 MB,
 * within 0.2 s. The job marks the phases itself, through the socket that `spoor phase` uses, so
 * no other process takes part.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "ledger.h"
#include "workload.h"

enum { PHASES = 3, BURN_MS = 60, PAUSE_MS = 40 };
static const size_t read_bytes = 300 * MB, written_bytes = 20 * MB;

static double own_cpu_seconds(void)
{
    struct timespec time;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Sends a mark to the tracker, which is the parent of this process, and waits until the
 * tracker has taken its sample. */
static void mark(const char *word, int phase)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    char namespace[64] = "", request[64], answer[1024];
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), length;
    ssize_t n = readlink("/proc/self/ns/pid", namespace, sizeof(namespace) - 1);

    if (fd < 0 || n < 0)
        ledger_fail("socket");
    length = snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "spoor-phases/%s/%d",
                      namespace, (int)getppid());
    if (connect(fd, (struct sockaddr *)&address,
                (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length)) < 0)
        ledger_fail("the tracker's socket");
    length = snprintf(request, sizeof(request), "%s phase%d", word, phase);
    if (send(fd, request, (size_t)length, MSG_NOSIGNAL) != length ||
        recv(fd, answer, sizeof(answer), 0) <= 0)
        ledger_fail("the tracker does not answer");
    close(fd);
}

int main(void)
{
    ledger_open();
    for (int phase = 0; phase < PHASES; phase++) {
        double before;

        hold_ms(PAUSE_MS);
        mark("start", phase);
        before = own_cpu_seconds();
        read_zeros(read_bytes);
        write_nowhere(written_bytes);
        burn_ms(BURN_MS);
        ledger_set_phase((unsigned)phase, CPU_SECONDS, own_cpu_seconds() - before);
        mark("stop", phase);
        ledger_set_phase((unsigned)phase, READ_CHARS, (double)read_bytes);
        ledger_set_phase((unsigned)phase, WRITTEN_CHARS, (double)written_bytes);
    }
    ledger_set(READ_CHARS, PHASES * (double)read_bytes);
    ledger_set(WRITTEN_CHARS, PHASES * (double)written_bytes);
    ledger_set(PROCESSES, 1);
    ledger_add_own_cpu();
    ledger_close();
    return 0;
}
