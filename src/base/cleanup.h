/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cleanup.h - resources that release themselves when their scope ends.
 *
 * Declare the resource empty (-1 or NULL), fill it, return whenever needed. To
 * hand it to the caller, take it out of the variable: take_fd(), take_ptr().
 */
#pragma once

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/compiler.h"

#define AUTO_CLOSE CLEANUP(cleanup_close)
#define AUTO_CLOSEDIR CLEANUP(cleanup_closedir)
#define AUTO_FREE CLEANUP(cleanup_free)

static inline void cleanup_close(int *fd)
{
    int saved = errno;

    if (*fd >= 0)
        close(*fd);
    errno = saved;
}

static inline void cleanup_closedir(DIR **folder)
{
    if (*folder)
        closedir(*folder);
}

static inline void cleanup_free(void *pointer)
{
    free(*(void **)pointer);
}

static inline int take_fd(int *fd)
{
    int taken = *fd;

    *fd = -1;
    return taken;
}

#define take_ptr(pointer)                         \
    __extension__({                               \
        __typeof__(pointer) *place_ = &(pointer); \
        __typeof__(pointer) taken_ = *place_;     \
        *place_ = NULL;                           \
        taken_;                                   \
    })
