/* SPDX-License-Identifier: Apache-2.0 */
#include "front/spoor/outputs.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/unknown.h"
#include "front/spoor/program.h"
#include "group/folder.h"
#include "run/process.h"

/* Names the group spoor-JOB.STEP in the directory from which the job was submitted. Without
 * a job ID, the name comes from the launcher: if a rank runs again, its last attempt counts. */
static int name_default(struct rank_group *group)
{
    const struct launch *launch = &group->launch;
    const char *directory = launch->submit_directory ? launch->submit_directory : ".";
    int n = snprintf(group->folder, sizeof(group->folder), "%s/spoor-%s%s%s", directory,
                     launch->job ? launch->job : launch->launcher, launch->step ? "." : "",
                     launch->step ? launch->step : "");

    if (n < 0 || (size_t)n >= sizeof(group->folder))
        return -1;
    for (char *c = group->folder + strlen(directory) + 1; *c; c++)
        *c = *c == '/' ? '_' : *c;
    return 0;
}

/* Returns whether this run is nested in a run of the same rank that is in the group already. A
 * nested run is not another attempt of the rank. */
static bool is_within_rank(const struct rank_group *group)
{
    pid_t tracker = group_find_running(group->folder, group->launch.rank);
    struct root root = ROOT_CLOSED;
    bool is_within = tracker > 0 && root_open(NULL, &root) == 0 &&
                     process_descends(&root, getpid(), tracker);

    root_close(&root);
    return is_within;
}

static bool find_folder(const struct settings *settings, struct rank_group *group)
{
    const struct launch *launch = &group->launch;

    launch_read(&group->launch, environment_own);
    if (settings->group) {
        (void)snprintf(group->folder, sizeof(group->folder), "%s", settings->group);
        return strcmp(settings->group, "off") != 0;
    }
    return settings->outputs.count == 0 && launch->launcher && is_known(launch->rank) &&
           is_known(launch->ranks) && launch->ranks > 1 && name_default(group) == 0;
}

void rank_group_begin(struct settings *settings, char **command, struct rank_group *ret)
{
    struct rank_group group = { .is_quiet = settings->is_quiet };
    char host[HOST_NAME_MAX + 1] = "";
    struct spoor_error err = { 0 };
    struct record begin;

    ret->folder[0] = '\0';
    if (!find_folder(settings, &group) || is_within_rank(&group))
        return;
    if (!settings->run_id[0])
        record_make_id(settings->run_id);
    (void)gethostname(host, sizeof(host) - 1); /* empty if unknown */
    record_init(&begin);
    begin.id = settings->run_id;
    begin.started_at = (double)(clock_now().realtime_ns / NS_PER_MS) / 1e3;
    begin.host = host;
    begin.pid = (uint64_t)getpid();
    begin.user = getenv("USER"); /* a name service may be slow on a cluster */
    begin.command = (const char **)(void *)command;
    begin.launch = launch_is_known(&group.launch) ? &group.launch : NULL;
    if (group_begin(group.folder, &begin, &err) < 0)
        program_warn(&spoor_program, "the run is not added to the group: %s", err.message);
    else
        *ret = group;
}

void rank_group_end(const struct rank_group *group, const struct buffer *line)
{
    struct spoor_error err = { 0 };
    int r = group_end(group->folder, line, group->launch.ranks, &err);

    if (r < 0)
        complain("the run is not added to the group: %s", err.message);
    else if (r > 0 && !group->is_quiet)
        program_warn(&spoor_program, "the report of all ranks is in '%s/merged.html'",
                     group->folder);
}
