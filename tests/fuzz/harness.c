/* SPDX-License-Identifier: Apache-2.0 */
/* harness.c - the list of targets, and the functions that they share. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "fuzz.h"

static const struct fuzz_target *const tables[] = {
    proc_targets, host_targets,   cgroup_targets, event_targets, gpu_targets, nvml_targets,
    text_targets, record_targets, store_targets,  front_targets, net_targets, machine_targets,
};

const struct fuzz_target *fuzz_target(size_t number)
{
    for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
        for (const struct fuzz_target *target = tables[i]; target->name; target++)
            if (number-- == 0)
                return target;
    }
    return NULL;
}

const struct fuzz_target *fuzz_find(const char *name)
{
    const struct fuzz_target *target;

    for (size_t i = 0; (target = fuzz_target(i)) != NULL; i++)
        if (strcmp(target->name, name) == 0)
            return target;
    return NULL;
}

void fuzz_fail(const char *file, int line, const char *what)
{
    fprintf(stderr, "%s:%d: not true: %s\n", file, line, what);
    abort();
}

void fuzz_run(const struct fuzz_target *target, const void *data, size_t length)
{
    char *text = malloc(length + 1); /* exact size: the address sanitizer detects overruns */

    CHECK(text != NULL);
    if (length > 0)
        memcpy(text, data, length);
    text[length] = '\0';
    target->run(text, length);
    free(text);
    fuzz_root_clear();
}

/* ---- inputs of several parts ---------------------------------------------------- */

#define MARK "@@ "

static char *find_mark(char *from, char *end)
{
    for (char *at = from; at < end; at++) {
        if ((size_t)(end - at) >= strlen(MARK) && memcmp(at, MARK, strlen(MARK)) == 0)
            return at;
        at = memchr(at, '\n', (size_t)(end - at));
        if (!at)
            break;
    }
    return NULL;
}

size_t fuzz_split(char *text, size_t length, struct fuzz_part parts[FUZZ_PARTS_MAX])
{
    static char no_name[] = "";
    char *end = text + length, *at = text;
    size_t count = 0;

    while (count < FUZZ_PARTS_MAX) {
        struct fuzz_part *part = &parts[count++];
        char *mark = find_mark(at, end), *stop = mark ? mark : end;

        if (count == 1)
            part->name = no_name;
        part->text = at;
        part->length = (size_t)(stop - at);
        if (!mark)
            return count;
        *mark = '\0';
        if (count == FUZZ_PARTS_MAX)
            return count;
        parts[count].name = mark + strlen(MARK);
        at = memchr(parts[count].name, '\n', (size_t)(end - parts[count].name));
        if (at)
            *at++ = '\0';
        else
            at = end;
    }
    return count;
}

const char *fuzz_part_text(const struct fuzz_part *parts, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(parts[i].name, name) == 0)
            return parts[i].text;
    return "";
}
