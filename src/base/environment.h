/* SPDX-License-Identifier: Apache-2.0 */
/* environment.h - looks up environment variables, which a test can replace. */
#ifndef BASE_ENVIRONMENT_H
#define BASE_ENVIRONMENT_H

#include <stdlib.h>

/* The value of a variable, or NULL. */
typedef const char *environment_get(const char *name);

static inline const char *environment_own(const char *name)
{
    return getenv(name);
}

#endif
