/* SPDX-License-Identifier: Apache-2.0 */
/*
 * small_stack.h - runs the program under a small limit of the stack.
 *
 * A job may run with a limit such as `ulimit -s 48`. Its wrapper shares the limit, which the
 * kernel reads whenever a stack grows, and needs more than that: paths and names are kept in
 * local variables. So under such a limit the program runs on a stack that was mapped.
 */
#ifndef FRONT_SMALL_STACK_H
#define FRONT_SMALL_STACK_H

/* Returns what call(data) returns, on whichever stack. */
int small_stack_call(int (*call)(void *data), void *data);

#endif
