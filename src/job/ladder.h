/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ladder.h - which sources serve on this machine, for this user.
 *
 * Each rung is tried, not guessed from versions or names: what is refused to us is
 * refused however new the kernel is.
 */
#ifndef JOB_LADDER_H
#define JOB_LADDER_H

#include "base/root.h"
#include "spoor/spoor.h"

/* Calls `each` for every rung, best source of a quantity first. */
void ladder_check(const struct root *root,
                  void (*each)(const struct spoor_rung *rung, void *data), void *data);

#endif
