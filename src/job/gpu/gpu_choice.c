/* SPDX-License-Identifier: Apache-2.0 */
#include "job/gpu/gpu_choice.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"

enum { BLOCK_SIZE = 1 << 20 };

static int set(struct gpu_choice *choice, enum visible_source source, const char *text)
{
    if (!text)
        return 0;
    choice->texts[source] = strdup(text);
    return choice->texts[source] ? 0 : -ENOMEM;
}

int gpu_choice_init(struct gpu_choice *choice, const char *gpus, environment_get *environment)
{
    int r;

    *choice = (struct gpu_choice){ 0 };
    r = set(choice, VISIBLE_OPTION, gpus);
    for (int i = VISIBLE_OPTION + 1; r == 0 && i <= VISIBLE_SLURM; i++)
        r = set(choice, (enum visible_source)i,
                environment(visible_name((enum visible_source)i)));
    if (r < 0)
        gpu_choice_done(choice);
    return r;
}

const char *gpu_choice_find(const char *block, size_t size, const char *name)
{
    size_t length = strlen(name);

    for (const char *at = block; at < block + size;) {
        size_t left = (size_t)(block + size - at);
        size_t entry = strnlen(at, left);

        if (entry == left)
            return NULL; /* the last one is cut */
        if (entry > length && at[length] == '=' && memcmp(at, name, length) == 0)
            return at + length + 1;
        at += entry + 1;
    }
    return NULL;
}

/* Joins the lists of several processes. CUDA ignores the items after one that is no device: "-1" goes last. */
static int join(struct gpu_choice *choice, enum visible_source source, const char *text)
{
    char *before = choice->texts[source], *joined;
    bool is_last = text && *text == '-';

    if (!before || *before == '\0') {
        free(text ? before : NULL);
        return set(choice, source, text);
    }
    if (!text || *text == '\0' || strcmp(before, text) == 0)
        return 0;
    if (asprintf(&joined, "%s%s%s", is_last ? before : text, ",", is_last ? text : before) < 0)
        return -ENOMEM;
    free(before);
    choice->texts[source] = joined;
    return 0;
}

int gpu_choice_init_for(struct gpu_choice *choice, const char *gpus, const struct root *root,
                        const pid_t *pids, size_t count)
{
    AUTO_FREE char *block = malloc(BLOCK_SIZE);
    int r;

    *choice = (struct gpu_choice){ 0 };
    if (!block)
        return -ENOMEM;
    r = set(choice, VISIBLE_OPTION, gpus);
    for (size_t k = 0; k < count; k++) {
        ssize_t n = root_read_start(root, block, BLOCK_SIZE, "proc/%d/environ", (int)pids[k]);

        for (int i = VISIBLE_OPTION + 1; r == 0 && n > 0 && i <= VISIBLE_SLURM; i++)
            r = join(choice, (enum visible_source)i,
                     gpu_choice_find(block, (size_t)n, visible_name((enum visible_source)i)));
    }
    if (r < 0)
        gpu_choice_done(choice);
    return r;
}

void gpu_choice_done(struct gpu_choice *choice)
{
    for (size_t i = 0; i < ARRAY_SIZE(choice->texts); i++)
        free(choice->texts[i]);
    *choice = (struct gpu_choice){ 0 };
}

int gpu_choice_check(const char *gpus, struct spoor_error *err)
{
    static const char allowed[] =
        "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_.,:/ \t";

    if (gpus[strspn(gpus, allowed)] != '\0')
        return error_set(err, EINVAL,
                         "invalid GPU list '%s': expected all, none, or numbers, UUIDs or PCI "
                         "addresses separated by commas",
                         gpus);
    for (const char *item = gpus; item;) {
        size_t length = strcspn(item, ",");

        if (strspn(item, " \t") >= length)
            return error_set(err, EINVAL, "invalid GPU list '%s': it has an empty item", gpus);
        item = item[length] == ',' ? item + length + 1 : NULL;
    }
    return 0;
}
