/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nearest.h - what a mistyped word was meant to be.
 *
 *     struct nearest nearest = NEAREST_TO("intreval");
 *
 *     nearest_offer(&nearest, "interval");    once for each word there is
 *     nearest_get(&nearest);                  "interval"
 */
#ifndef FRONT_NEAREST_H
#define FRONT_NEAREST_H

#include <stddef.h>
#include <stdint.h>

struct nearest {
    const char *word;
    const char *best; /* of those offered; borrowed */
    size_t distance;  /* of best */
};

#define NEAREST_TO(text)       \
    {                          \
        (text), NULL, SIZE_MAX \
    }

/* How many letters must be added, dropped, changed or swapped with their
 * neighbour to make one word of the other. Only the first 63 bytes of each count. */
size_t edit_distance(const char *a, const char *b);

void nearest_offer(struct nearest *nearest, const char *candidate);

/* The word that was probably meant; NULL: none is near enough to say so. */
const char *nearest_get(const struct nearest *nearest);

#endif
