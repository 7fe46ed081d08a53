/* SPDX-License-Identifier: Apache-2.0 */
/* run_facts.c - name, user, command and launcher of a run, read when the session is opened. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "job/gpu/gpu_inventory.h"
#include "session/session.h"
#include "source/proc/pid_files.h"

enum { ARGUMENTS_MAX = 4096, CMDLINE_MAX = 128 << 10, ENVIRONMENT_MAX = 1 << 20 };

static int add_all(struct text_list *list, const char *const *texts)
{
    int r = 0;

    for (; *texts && r == 0; texts++)
        r = text_list_add(list, *texts, NULL);
    return r;
}

static int read_command(struct run_facts *facts, const struct root *root, pid_t pid)
{
    AUTO_FREE char *text = malloc(CMDLINE_MAX);
    AUTO_FREE const char **arguments = calloc(ARGUMENTS_MAX, sizeof(*arguments));
    ssize_t length;

    if (!text || !arguments)
        return -ENOMEM;
    length = pid_cmdline_read(root, pid, text, CMDLINE_MAX);
    if (length <= 0)
        return 0; /* unknown */
    cmdline_split(text, (size_t)length, arguments, ARGUMENTS_MAX);
    return add_all(&facts->command, arguments);
}

/* Reads /etc/passwd: getpwuid() loads libraries and may query a server. */
static void read_user(struct run_facts *facts, const struct root *root, pid_t pid)
{
    char text[32 << 10];
    const char *own_name = getenv("USER");
    struct pid_status status;

    if (pid_status_read(root, pid, &status) < 0)
        return;
    if (root_read_start(root, text, sizeof(text), "etc/passwd") > 0 &&
        passwd_parse_name(text, status.uid, facts->user, sizeof(facts->user)) == 0)
        return;
    if (root->is_live && status.uid == getuid() && own_name && *own_name)
        /* Truncation is fine. */
        (void)snprintf(facts->user, sizeof(facts->user), "%s", own_name);
    else
        (void)snprintf(facts->user, sizeof(facts->user), "%llu",
                       (unsigned long long)status.uid);
}

/* The environment that get_variable() reads: launch_read() takes no argument to pass it. */
static _Thread_local const char *block;
static _Thread_local size_t block_size;

static const char *get_variable(const char *name)
{
    return gpu_choice_find(block, block_size, name);
}

/* Reads the launcher from the environment. A command that we start has our environment; a
 * running process has its own, if we may read it. */
static int read_launch(struct run_facts *facts, const struct spoor_options *options,
                       const struct root *root)
{
    bool is_attached = options->pid != 0 && !(options->flags & SPOOR_CALLER_SPAWNED);
    ssize_t length = 0;

    if (root->is_live && !is_attached && !(options->flags & SPOOR_TRACK_CGROUP)) {
        launch_read(&facts->launch, environment_own);
        return launch_keep(&facts->launch, &facts->environment);
    }
    facts->environment = malloc(ENVIRONMENT_MAX);
    if (!facts->environment)
        return -ENOMEM;
    if (is_attached)
        length = root_read_start(root, facts->environment, ENVIRONMENT_MAX, "proc/%d/environ",
                                 (int)options->pid);
    block = facts->environment;
    block_size = length > 0 ? (size_t)length : 0;
    launch_read(&facts->launch, get_variable);
    return 0;
}

int run_facts_init(struct run_facts *facts, const struct spoor_options *options,
                   const struct root *root)
{
    pid_t pid = options->pid != 0 ? options->pid : getpid();
    int r = 0;

    *facts = (struct run_facts){ 0 };
    if (options->id)
        (void)snprintf(facts->id, sizeof(facts->id), "%s", options->id); /* fits */
    else
        record_make_id(facts->id);
    if (options->name) {
        facts->name = strdup(options->name);
        if (!facts->name)
            return -ENOMEM;
    }
    if (options->tags)
        r = add_all(&facts->tags, options->tags);
    if (r == 0 && options->command)
        r = add_all(&facts->command, options->command);
    else if (r == 0 && options->pid != 0)
        r = read_command(facts, root, options->pid);
    if (r == 0)
        r = read_launch(facts, options, root);
    if (r < 0)
        return r;
    read_user(facts, root, pid);
    if (root_read_link(root, facts->cwd, sizeof(facts->cwd), "proc/%d/cwd", (int)pid) < 0)
        facts->cwd[0] = '\0';
    return 0;
}

void run_facts_done(struct run_facts *facts)
{
    free(facts->name);
    free(facts->environment);
    text_list_done(&facts->tags);
    text_list_done(&facts->command);
    *facts = (struct run_facts){ 0 };
}
