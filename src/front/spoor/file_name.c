/* SPDX-License-Identifier: Apache-2.0 */
#include "front/spoor/file_name.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/environment.h"
#include "base/error.h"
#include "base/unknown.h"
#include "record/launch.h"
#include "record/record.h"
#include "text/buffer.h"

/* A value must not add a directory to the path. */
static void add_value(const char *value, struct buffer *out)
{
    for (; *value; value++)
        buffer_add(out, *value == '/' ? "_" : value, 1);
}

const char *run_tag(const struct settings *settings, const char *key)
{
    for (size_t i = 0; i < settings->tags.count; i++) {
        const char *tag = settings->tags.items[i];

        if (strncmp(tag, key, strlen(key)) == 0 && tag[strlen(key)] == '=')
            return tag + strlen(key) + 1;
    }
    return NULL;
}

static struct launch get_launch(void)
{
    struct launch launch;

    launch_read(&launch, environment_own);
    return launch;
}

static int add_part(struct settings *settings, const char *name, struct buffer *out,
                    struct spoor_error *err)
{
    struct clock_text now = clock_format((double)(clock_now().realtime_ns / NS_PER_SECOND));
    char host[HOST_NAME_MAX + 1] = "", pid[16], date[16], time[16], rank[24];
    bool is_tag = strncmp(name, "tag.", 4) == 0;
    const char *value = is_tag ? run_tag(settings, name + 4) : NULL;
    const struct launch launch = get_launch();
    const struct {
        const char *name, *value;
    } parts[] = {
        { "name", settings->name },
        { "host", host },
        { "pid", pid },
        { "date", date },
        { "time", time },
        { "id", settings->run_id },
        { "rank", rank },
        /* Few launchers provide the index of a node. */
        { "node", launch.node_name ? launch.node_name : host },
        { "job", launch.job ? launch.job : "0" },
        { "step", launch.step ? launch.step : "0" },
    };

    (void)gethostname(host, sizeof(host) - 1); /* empty if unknown */
    (void)snprintf(pid, sizeof(pid), "%d", (int)(settings->pid ? settings->pid : getpid()));
    /* Parts of "2026-03-14T09:26:53.589Z", without colons. */
    (void)snprintf(date, sizeof(date), "%.10s", now.text);
    (void)snprintf(time, sizeof(time), "%.2s%.2s%.2s", now.text + 11, now.text + 14,
                   now.text + 17);
    (void)snprintf(rank, sizeof(rank), "%llu", (unsigned long long)known_or_0(launch.rank));
    if (strcmp(name, "id") == 0 && !settings->run_id[0])
        record_make_id(settings->run_id);
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        if (strcmp(parts[i].name, name) == 0)
            value = parts[i].value;
    }
    if (value) {
        add_value(value, out);
        return 0;
    }
    if (is_tag || strcmp(name, "name") == 0)
        return error_set(err, EINVAL, "{%s}: the run has none; give it with %s", name,
                         is_tag ? "--tag" : "--name");
    return error_set(err, EINVAL,
                     "unknown {%s}: use {name}, {host}, {pid}, {date}, {time}, {id}, {rank}, "
                     "{node}, {job}, {step} or {tag.KEY}; {{ is a brace",
                     name);
}

static int fill_in(struct settings *settings, char **path, struct spoor_error *err)
{
    CLEANUP(buffer_done) struct buffer out = { 0 };
    const char *text = *path;
    int r = 0;

    if (!strpbrk(text, "{}"))
        return 0;
    while (*text && r == 0) {
        size_t length = strcspn(text + 1, "}");
        char name[64] = "";

        if (*text != '{' || text[1] == '{') {
            buffer_add(&out, text, 1);
            text += (text[0] == '{' || text[0] == '}') && text[1] == text[0] ? 2 : 1;
            continue;
        }
        if (text[1 + length] == '\0') {
            r = error_set(err, EINVAL, "a brace is not closed; {{ is a brace");
            break;
        }
        memcpy(name, text + 1, length < sizeof(name) ? length : sizeof(name) - 1);
        r = add_part(settings, name, &out, err);
        text += length + 2;
    }
    if (r == 0 && buffer_error(&out) < 0)
        r = error_set(err, ENOMEM, "out of memory");
    if (r < 0)
        return error_prefix(err, r, "'%s'", *path);
    free(*path);
    *path = out.text;
    out = (struct buffer){ 0 };
    return 0;
}

int file_names_fill_in(struct settings *settings, struct spoor_error *err)
{
    int r = settings->report_path ? fill_in(settings, &settings->report_path, err) : 0;

    for (size_t i = 0; r == 0 && i < settings->outputs.count; i++)
        r = fill_in(settings, &settings->outputs.items[i], err);
    for (size_t i = 0; r == 0 && i < settings->samples.count; i++)
        r = fill_in(settings, &settings->samples.items[i], err);
    return r;
}
