/* SPDX-License-Identifier: Apache-2.0 */
/* reserve.h - makes room in a growing array. */
#pragma once

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Makes room for `count` elements of `size` bytes. `list` is the address of the pointer to them. The
 * capacity doubles, so that adding one at a time is cheap. -ENOMEM: nothing has changed. */
static inline int reserve(void *list, size_t *capacity, size_t count, size_t size)
{
    size_t wanted = *capacity ? *capacity : 16;
    void *grown;

    if (count <= *capacity)
        return 0;
    if (count > (size_t)PTRDIFF_MAX / size / 2)
        return -ENOMEM;
    while (wanted < count)
        wanted *= 2;
    memcpy(&grown, list, sizeof(grown));
    grown = reallocarray(grown, wanted, size);
    if (!grown)
        return -ENOMEM;
    memcpy(list, &grown, sizeof(grown));
    *capacity = wanted;
    return 0;
}
