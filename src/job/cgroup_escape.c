/* SPDX-License-Identifier: Apache-2.0 */
#include "job/cgroup_escape.h"

#include <string.h>

#include "source/proc/pid_files.h"

enum { TEXT_SIZE = 16 * 1024, GROWTH_BYTES = 4 << 20 };

static bool read_text(const struct root *root, pid_t pid, char text[TEXT_SIZE])
{
    return root_read(root, text, TEXT_SIZE, "proc/%d/cgroup", (int)pid) > 0;
}

void cgroup_escape_init(struct cgroup_escape *escape, const struct job_cgroup *job_cgroup,
                        pid_t main_pid)
{
    char text[TEXT_SIZE];
    struct text_part path;

    *escape = (struct cgroup_escape){ 0 };
    if (!job_cgroup->root || !read_text(job_cgroup->root, main_pid, text))
        return;
    for (int i = 0; i < CGROUP_TREE_COUNT; i++) {
        if (job_cgroup_has(job_cgroup, (enum cgroup_tree)i) &&
            cgroup_find_path(text, (enum cgroup_controller)i, &path) == 0 &&
            path.length < sizeof(escape->home[i]))
            memcpy(escape->home[i], path.start, path.length);
    }
}

/* Whether a process is exiting: version 1 then lists it in the root of the hierarchy. */
static bool is_ending(const struct root *root, struct member *member)
{
    struct pid_stat stat;

    return pid_stat_read(&member->files.stat, root, member->id.pid, &stat) < 0 ||
           stat.is_ending;
}

static bool is_at_or_below(struct text_part path, const char *home)
{
    size_t length = strlen(home);

    if (length == 1) /* the root of a cgroup namespace, "/" */
        return true;
    return path.length >= length && strncmp(path.start, home, length) == 0 &&
           (path.length == length || path.start[length] == '/');
}

static bool is_watching(const struct cgroup_escape *escape)
{
    for (int i = 0; i < CGROUP_TREE_COUNT; i++) {
        if (escape->home[i][0] != '\0' && !escape->has_left[i])
            return true;
    }
    return false;
}

void cgroup_escape_check(struct cgroup_escape *escape, const struct root *root,
                         struct member *member)
{
    char text[TEXT_SIZE];
    struct text_part path;

    if (!is_watching(escape))
        return;
    member->reading.placed_rss_bytes = member->reading.rss_bytes;
    if (!read_text(root, member->id.pid, text))
        return;
    for (int i = 0; i < CGROUP_TREE_COUNT; i++) {
        if (escape->home[i][0] == '\0' || escape->has_left[i] ||
            cgroup_find_path(text, (enum cgroup_controller)i, &path) < 0 ||
            is_at_or_below(path, escape->home[i]))
            continue;
        if (is_ending(root, member))
            return;
        escape->has_left[i] = true;
    }
}

bool cgroup_escape_is_due(const struct cgroup_escape *escape, const struct member *member)
{
    return member->reading.rss_bytes > 2 * member->reading.placed_rss_bytes + GROWTH_BYTES &&
           is_watching(escape);
}
