/* SPDX-License-Identifier: Apache-2.0 */
/* program.h - the program spoor and its commands. */
#ifndef FRONT_SPOOR_PROGRAM_H
#define FRONT_SPOOR_PROGRAM_H

#include "front/program.h"

extern const struct program spoor_program;

/* Writes "spoor: ..." to stderr. Returns EXIT_OWN_FAILURE. */
#define complain(...) program_complain(&spoor_program, __VA_ARGS__)
void spoor_warn(const char *message);

/* Finds the process of a run of this user by its --name, or a process by its own name.
 * -ESRCH: there is none; -ENOTUNIQ: there are several. */
int watch_find(const char *name, pid_t *ret, struct spoor_error *err);

int command_run(const struct command *command, int argc, char **argv);
int command_attach(const struct command *command, int argc, char **argv);
int command_agent(const struct command *command, int argc, char **argv);
int command_bench(const struct command *command, int argc, char **argv);
int command_check(const struct command *command, int argc, char **argv);
int command_compare(const struct command *command, int argc, char **argv);
int command_doctor(const struct command *command, int argc, char **argv);
int command_info(const struct command *command, int argc, char **argv);
int command_merge(const struct command *command, int argc, char **argv);
int command_phase(const struct command *command, int argc, char **argv);
int command_recommend(const struct command *command, int argc, char **argv);
int command_report(const struct command *command, int argc, char **argv);
int command_watch(const struct command *command, int argc, char **argv);
int command_system(const struct command *command, int argc, char **argv);
int command_history(const struct command *command, int argc, char **argv);
int command_help(const struct command *command, int argc, char **argv);

#endif
