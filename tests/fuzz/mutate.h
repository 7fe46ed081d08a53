/* SPDX-License-Identifier: Apache-2.0 */
/* mutate.h - changes an input at random, in the same way for the same seed. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Returns the next number of a sequence (splitmix64). */
uint64_t random_next(uint64_t *state);

/* Makes a few changes to `data`, which has room for `capacity` bytes; may copy a piece of
 * `other`, another input, into it. Returns the new length. */
size_t mutate(unsigned char *data, size_t length, size_t capacity, const unsigned char *other,
              size_t other_length, uint64_t *state);
