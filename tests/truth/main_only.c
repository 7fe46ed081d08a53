/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main_only PID REPORT SAMPLES - tracks one process without its descendants (SPOOR_MAIN_ONLY)
 * until it exits. Writes the report and the samples to these files.
 */
#include <poll.h>
#include <spoor/spoor.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { INTERVAL_NS = 20000000 };

int main(int argc, char **argv)
{
    struct spoor_options options = SPOOR_OPTIONS_INIT;
    struct pollfd end = { .events = POLLIN };
    struct spoor_error err;
    spoor_session *session;

    if (argc != 4)
        return 2;
    options.pid = (pid_t)strtol(argv[1], NULL, 10);
    options.interval_ns = INTERVAL_NS;
    options.streams = &(struct spoor_stream){ .path = argv[3] };
    options.stream_count = 1;
    options.flags = SPOOR_MAIN_ONLY;
    end.fd = (int)syscall(SYS_pidfd_open, options.pid, 0);
    if (end.fd < 0 || spoor_session_open(&options, &session, &err) < 0 ||
        spoor_session_start(session, &err) < 0) {
        fprintf(stderr, "main_only: %s\n", end.fd < 0 ? "no pidfd" : err.message);
        return 1;
    }
    while (poll(&end, 1, -1) < 0)
        ;
    if (spoor_session_stop(session, &err) < 0 ||
        spoor_session_save(session, SPOOR_JSON, argv[2], SPOOR_REPLACE, &err) < 0) {
        fprintf(stderr, "main_only: %s\n", err.message);
        return 1;
    }
    session = spoor_session_close(session);
    return 0;
}
