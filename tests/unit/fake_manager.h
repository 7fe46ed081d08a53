/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_manager.h - a stand-in for a systemd manager on its own socket, in a thread of the test.
 * It moves nothing: it only sends messages. They are assembled byte by byte without the code
 * under test.
 */
#ifndef TESTS_FAKE_MANAGER_H
#define TESTS_FAKE_MANAGER_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

enum fake_manner {
    FAKE_WORKS,
    FAKE_TALKS,         /* the same, among signals of other jobs and a very long one */
    FAKE_SIGNALS_FIRST, /* the same, but answers after the signal */
    FAKE_REJECTS,       /* refuses the login */
    FAKE_BABBLES,       /* sends another message instead */
    FAKE_BABBLES_ON,    /* an endless line */
    FAKE_HANGS_UP,      /* closes at once */
    FAKE_IS_MUTE,       /* accepts, and sends nothing */
    FAKE_DENIES,        /* answers with an error */
    FAKE_FAILS,         /* the job's result is "failed" */
    FAKE_HANGS_UP_LATE, /* closes after the call for the scope */
    FAKE_IS_MUTE_LATE,  /* does not answer the call */
    FAKE_SENDS_RUBBISH, /* answers with bytes that are no message */
    FAKE_FLOODS,        /* answers with endless signals */
};

struct fake_manager {
    char folder[64];
    char path[96]; /* path of the socket */
    enum fake_manner manner;
    int listen_fd;
    pthread_t thread;
    /* Received data; valid after the manager was stopped. */
    char login[64];
    uint8_t call[2048];
    size_t call_length; /* 0: there was none */
};

/* Listens on a socket in a temporary folder and serves the first client. */
void fake_manager_start(struct fake_manager *fake, enum fake_manner manner);

/* Waits until the client has closed, and removes the folder. */
void fake_manager_stop(struct fake_manager *fake);

#endif
