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

int command_agent(const struct command *command, int argc, char **argv);
int command_phase(const struct command *command, int argc, char **argv);
int command_help(const struct command *command, int argc, char **argv);

/* The other commands do their work with the settings that settings_main() has read. */
typedef int command_work(struct settings *settings, char **operands, int count);
command_work command_run;
command_work command_attach;
command_work command_bench;
command_work command_check;
command_work command_compare;
command_work command_doctor;
command_work command_info;
command_work command_merge;
command_work command_recommend;
command_work command_report;
command_work command_watch;
command_work command_system;
command_work command_history;
command_work command_history_show;
command_work command_history_stats;
command_work command_history_prune;
command_work command_history_import;
command_work command_history_push;

#endif
