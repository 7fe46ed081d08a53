/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_manager.h - a stand-in for a systemd manager on its own socket, in a thread of the test.
 * It moves no processes; it only sends messages, which it assembles byte by byte, without the
 * code under test.
 */
#pragma once

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

enum fake_manner {
    FAKE_WORKS,
    FAKE_TALKS,         /* works, but sends other signals too, some of them overlong */
    FAKE_SIGNALS_FIRST, /* works, but sends the signal before the answer */
    FAKE_REJECTS,       /* refuses the login */
    FAKE_BABBLES,       /* answers the login in another protocol */
    FAKE_BABBLES_ON,    /* answers the login with a very long, unfinished line */
    FAKE_HANGS_UP,      /* closes the connection at once */
    FAKE_IS_MUTE,       /* accepts the connection but sends nothing */
    FAKE_DENIES,        /* answers the call with an error */
    FAKE_FAILS,         /* the job's result is "failed" */
    FAKE_HANGS_UP_LATE, /* closes the connection after the call */
    FAKE_IS_MUTE_LATE,  /* does not answer the call */
    FAKE_SENDS_RUBBISH, /* answers with bytes that are not a valid message */
    FAKE_FLOODS,        /* answers with endless signals */
};

struct fake_manager {
    char folder[64];
    char path[96]; /* the socket */
    enum fake_manner manner;
    int listen_fd;
    pthread_t thread;
    /* What the client sent; valid after fake_manager_stop(). */
    char login[64];
    uint8_t call[2048];
    size_t call_length; /* 0: no call was received */
};

/* Listens on a socket in a temporary folder and serves the first client. */
void fake_manager_start(struct fake_manager *fake, enum fake_manner manner);

/* Waits until the client has closed the connection, and removes the folder. */
void fake_manager_stop(struct fake_manager *fake);
