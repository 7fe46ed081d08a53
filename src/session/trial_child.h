/* SPDX-License-Identifier: Apache-2.0 */
/* trial_child.h - a process that does nothing, to try sources on. */
#ifndef SESSION_TRIAL_CHILD_H
#define SESSION_TRIAL_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

/* Starts a child that ends when *ret_end_fd is closed. It belongs to this user or, which only root
 * can do, to another one. Returns its pid or -errno. */
pid_t trial_child_start(bool is_foreign, int *ret_end_fd);
void trial_child_end(pid_t pid, int end_fd);

#endif
