/* SPDX-License-Identifier: Apache-2.0 */
/* environment.h - looks up environment variables; a test can replace the lookup. */
#pragma once

#include <stdlib.h>

/* Returns the value of a variable; NULL if it is not set. */
typedef const char *environment_get(const char *name);

static inline const char *environment_own(const char *name)
{
    return getenv(name);
}
