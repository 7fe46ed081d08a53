/* SPDX-License-Identifier: Apache-2.0 */
#include "front/spoor/outputs.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/error.h"
#include "front/agent.h"
#include "front/spoor/settings.h"
#include "record/load.h"
#include "runs/compare.h"
#include "runs/run_set.h"
#include "text/number.h"

/* ---- limits ------------------------------------------------------------- */

static void report_broken(void *data, UNUSED const struct record *run, const char *line)
{
    bool *is_kept = data;

    *is_kept = false;
    complain("limit broken: %s", line);
}

/* ---- the command -------------------------------------------------------- */

/* The environment of the command: our own variables, plus variables that describe the run. A
 * zeroed struct is empty. */
struct variables {
    struct text_list list;
    struct spoor_error err;
};

static void add_variable(struct variables *variables, const char *name, const char *value)
{
    CLEANUP(buffer_done) struct buffer text = { 0 };

    if (!value)
        return;
    buffer_add_text(&text, "SPOOR_RUN_");
    for (; *name; name++)
        buffer_add(&text, &(char){ (char)toupper((unsigned char)*name) }, 1);
    buffer_add_text(&text, "=");
    buffer_add_text(&text, value);
    if (buffer_error(&text) == 0)
        (void)text_list_add(&variables->list, text.text, &variables->err);
}

static void add_number(struct variables *variables, const char *name, double value)
{
    if (!isnan(value))
        add_variable(variables, name, decimal_number(value).text);
}

static void add_run(struct variables *variables, const struct outputs *outputs,
                    const struct record *run)
{
    CLEANUP(buffer_done) struct buffer command = { 0 };

    (void)run_property(run, "command", &command, NULL); /* cannot fail: this property exists */
    add_variable(variables, "id", run->id);
    add_variable(variables, "name", run->name);
    add_variable(variables, "command", command.text);
    add_variable(variables, "report", outputs_file(outputs, ~0u));
    add_variable(variables, "signal", run->signal);
    if (is_known(run->exit_code))
        add_number(variables, "exit_code", (double)run->exit_code);
    for (size_t i = 0; i < RUN_FIGURES; i++)
        add_number(variables, run_figures[i].name, run_figure_get(&run_figures[i], run).value);
}

struct exit_command {
    const char *text;
    char **variables;
};

/* Starts the command with default signal handling. Its output goes to stderr: stdout belongs
 * to the job. */
static int spawn(const struct exit_command *command, pid_t *ret)
{
    char shell[] = "sh", option[] = "-c";
    char *arguments[] = { shell, option, strdup(command->text), NULL };
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    int r = ENOMEM;

    sigemptyset(&none);
    sigfillset(&all);
    if (!arguments[2] || posix_spawn_file_actions_init(&actions) != 0)
        goto out;
    if (posix_spawnattr_init(&attributes) != 0)
        goto out_actions;
    (void)posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
    (void)posix_spawnattr_setsigmask(&attributes, &none);
    (void)posix_spawnattr_setsigdefault(&attributes, &all);
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    r = posix_spawnp(ret, shell, &actions, &attributes, arguments, command->variables);
    posix_spawnattr_destroy(&attributes);
out_actions:
    posix_spawn_file_actions_destroy(&actions);
out:
    free(arguments[2]);
    return -r;
}

static int run_command(void *data)
{
    const struct exit_command *command = data;
    int status = 0;
    pid_t pid;
    int r = spawn(command, &pid);
    struct spoor_error err;

    while (r == 0 && waitpid(pid, &status, 0) < 0)
        r = errno == EINTR ? 0 : -errno;
    if (r < 0) {
        (void)error_sys(&err, r, "--on-exit: cannot run sh");
        complain("%s", err.message);
    } else if (WIFSIGNALED(status)) {
        complain("--on-exit: the command was killed by signal %d", WTERMSIG(status));
    } else if (WEXITSTATUS(status) != 0) {
        complain("--on-exit: the command ended with exit code %d", WEXITSTATUS(status));
    }
    return 0;
}

static void call(const struct settings *settings, const struct outputs *outputs,
                 const struct record *run)
{
    struct variables variables = { 0 };
    struct exit_command command = { .text = settings->on_exit };

    for (char **variable = environ; *variable; variable++)
        (void)text_list_add(&variables.list, *variable, &variables.err);
    add_run(&variables, outputs, run);
    command.variables = variables.list.items;
    if (variables.err.code == 0)
        (void)program_write_report(&spoor_program, run_command, &command);
    else
        complain("--on-exit: %s", variables.err.message);
    text_list_done(&variables.list);
}

/* ---- all of it ---------------------------------------------------------- */

bool after_run_of(const struct settings *settings, const struct outputs *outputs,
                  const struct record *run)
{
    bool is_kept = true;

    /* The limits were checked when the options were read. */
    (void)run_limits_check((const char *const *)settings->limits.items, run, report_broken,
                           &is_kept, NULL);
    if (settings->on_exit)
        call(settings, outputs, run);
    return is_kept;
}

bool after_run(const struct settings *settings, const struct outputs *outputs,
               spoor_session *session)
{
    CLEANUP(buffer_done) struct buffer json = { 0 };
    struct spoor_error err = { 0 };
    struct record run;
    bool is_kept;

    if (settings->limits.count == 0 && !settings->on_exit)
        return true;
    if (tracking_agent_format(session, SPOOR_JSON, &json, &err) < 0 ||
        record_parse(json.text, json.length, &run, NULL, &err) < 0) {
        complain("the run is not checked, and --on-exit is not called: %s", err.message);
        return settings->limits.count == 0;
    }
    is_kept = after_run_of(settings, outputs, &run);
    record_done(&run);
    return is_kept;
}
