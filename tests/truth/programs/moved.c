/* SPDX-License-Identifier: Apache-2.0 */
/*
 * moved FOLDER... - a process that has read 1.2 GB and used 0.6 s of CPU time moves into a
 * cgroup that is already tracked. The cgroup, given by its folder in each hierarchy, is not
 * empty before the move: a child of the process sleeps in it.
 */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "ledger.h"
#include "workload.h"

enum { PAST_MS = 600, LATER_MS = 400 };

struct place {
    char **folders;
    meeting *meeting;
};

static void move_to(char **folders)
{
    for (; *folders; folders++) {
        char path[4096];
        int fd;

        snprintf(path, sizeof(path), "%s/cgroup.procs", *folders);
        fd = open(path, O_WRONLY | O_CLOEXEC);
        if (fd < 0 || write(fd, "0", 1) != 1)
            ledger_fail(path);
        close(fd);
    }
}

static void act_inside(void *data)
{
    const struct place *place = data;

    move_to(place->folders);
    meet(place->meeting);
    meet(place->meeting); /* the other process has moved and is about to exit */
    _exit(0);             /* this process used no CPU time while it was tracked */
}

int main(int argc, char **argv)
{
    struct place place = { .folders = argv + 1, .meeting = meeting_of(2) };
    pid_t pid;

    if (argc < 2)
        ledger_cannot("no cgroup was given");
    read_zeros(1200 * MB);
    burn_ms(PAST_MS);
    pid = start(act_inside, &place);
    meet(place.meeting);
    ledger_open();
    move_to(place.folders);
    hold_ms(1200); /* long enough for a sample to include this process */
    read_zeros(100 * MB);
    burn_ms(LATER_MS);
    ledger_set(READ_CHARS, 100 * (double)MB);
    meet(place.meeting);
    wait_for(pid);
    ledger_add_own_cpu();
    ledger_close();
    return 0;
}
