/* SPDX-License-Identifier: Apache-2.0 */
#include "compat/gpu_tracker/gpus.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/compiler.h"

#define REMAIN " The GPU RAM and GPU utilization values will remain 0.0."

static int fail(struct gpu_tracker_gpus *gpus, int code, const char *fmt, ...)
    PRINTF_LIKE(3, 4);

static int fail(struct gpu_tracker_gpus *gpus, int code, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(gpus->message, sizeof(gpus->message), fmt, args); /* cut is fine */
    va_end(args);
    return -code;
}

/* ---- the list ------------------------------------------------------------ */

/* Copies of what the drivers say; the texts are owned. */
struct list {
    struct spoor_gpu *gpus;
    size_t count;
    bool is_full; /* no memory for more */
};

static void list_done(struct list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free((char *)(uintptr_t)list->gpus[i].uuid);
        free((char *)(uintptr_t)list->gpus[i].vendor);
    }
    free(list->gpus);
}

static void keep(const struct spoor_gpu *gpu, void *data)
{
    struct list *list = data;
    struct spoor_gpu *gpus = realloc(list->gpus, (list->count + 1) * sizeof(*gpus));
    struct spoor_gpu copy = *gpu;

    if (gpus)
        list->gpus = gpus;
    copy.uuid = strdup(gpu->uuid);
    copy.vendor = strdup(gpu->vendor);
    if (!gpus || !copy.uuid || !copy.vendor) {
        free((char *)(uintptr_t)copy.uuid);
        free((char *)(uintptr_t)copy.vendor);
        list->is_full = true;
        return;
    }
    list->gpus[list->count++] = copy;
}

/* ---- the choice ---------------------------------------------------------- */

/* A MIG device is part of a GPU, not a GPU itself. */
static bool counts(const struct spoor_gpu *gpu, const char *brand)
{
    return !gpu->is_part && (!brand || strcmp(gpu->vendor, brand) == 0);
}

static bool has_uuid(const struct spoor_gpu *gpu, const char *uuid, size_t length)
{
    return strlen(gpu->uuid) == length && memcmp(gpu->uuid, uuid, length) == 0;
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int refuse_uuid(const struct spoor_gpu *list, size_t count, const char *brand,
                       const char *uuid, size_t length, struct gpu_tracker_gpus *gpus)
{
    AUTO_FREE const char **uuids = calloc(count + 1, sizeof(*uuids));
    size_t known = 0;

    if (!uuids)
        return fail(gpus, ENOMEM, "out of memory");
    for (size_t i = 0; i < count; i++) {
        if (counts(&list[i], brand))
            uuids[known++] = list[i].uuid;
    }
    qsort(uuids, known, sizeof(*uuids), compare_texts);
    (void)fail(gpus, EINVAL,
               "GPU UUID of %.*s is not valid. Available UUIDs are: ", (int)length, uuid);
    for (size_t i = 0; i < known; i++) {
        size_t used = strlen(gpus->message);
        bool fits = used + strlen(uuids[i]) + sizeof(", , ...") <= sizeof(gpus->message);

        (void)snprintf(gpus->message + used, sizeof(gpus->message) - used, "%s%s",
                       i > 0 ? ", " : "", fits ? uuids[i] : "..."); /* fits */
        if (!fits)
            break;
    }
    return -EINVAL;
}

/* Counts the GPUs of a list between commas, each once. */
static int count_uuids(const struct spoor_gpu *list, size_t count, const char *uuids,
                       const char *brand, struct gpu_tracker_gpus *gpus)
{
    AUTO_FREE bool *is_named = calloc(count + 1, sizeof(*is_named));

    if (!is_named)
        return fail(gpus, ENOMEM, "out of memory");
    gpus->expected_count = 0;
    for (;;) {
        size_t length = strcspn(uuids, ",");
        size_t i = 0;

        while (i < count && !(has_uuid(&list[i], uuids, length) &&
                              (!brand || strcmp(list[i].vendor, brand) == 0)))
            i++;
        if (i == count)
            return refuse_uuid(list, count, brand, uuids, length, gpus);
        gpus->expected_count += !is_named[i];
        is_named[i] = true;
        if (uuids[length] == '\0')
            return 0;
        uuids += length + 1;
    }
}

/* The UUIDs of a brand, commas between them. NULL: out of memory. */
static char *list_brand(const struct spoor_gpu *list, size_t count, const char *brand)
{
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);

    if (!out)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        if (counts(&list[i], brand))
            fprintf(out, "%s%s", ftell(out) > 0 ? "," : "", list[i].uuid);
    }
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

static int choose_none(const char *brand, struct gpu_tracker_gpus *ret)
{
    if (brand)
        return fail(ret, ENODEV, "No GPU of the brand \"%s\" was found.", brand);
    (void)fail(
        ret, ENODEV,
        "Neither the nvidia-smi command nor the amd-smi command is installed. Install one "
        "of these to profile the GPU. Otherwise the GPU RAM and GPU utilization values "
        "will remain 0.0.");
    ret->selection = strdup("none");
    return ret->selection ? 0 : fail(ret, ENOMEM, "out of memory");
}

static int choose_some(const struct spoor_gpu *list, size_t count, const char *uuids,
                       const char *brand, struct gpu_tracker_gpus *ret)
{
    int r = 0;

    ret->expected_count = ret->count;
    if (uuids && *uuids == '\0')
        return fail(ret, EINVAL,
                    "gpu_uuids is not None but the set is empty. Please provide a set of at "
                    "least one GPU UUID.");
    if (uuids)
        r = count_uuids(list, count, uuids, brand, ret);
    if (r < 0)
        return r;
    if (!uuids && brand)
        ret->selection = list_brand(list, count, brand);
    else
        ret->selection = strdup(uuids ? uuids : "all");
    return ret->selection ? 0 : fail(ret, ENOMEM, "out of memory");
}

int gpu_tracker_gpus_choose(const struct spoor_gpu *list, size_t count, const char *uuids,
                            const char *brand, struct gpu_tracker_gpus *ret)
{
    *ret = (struct gpu_tracker_gpus){ 0 };
    for (size_t i = 0; i < count; i++) {
        if (!counts(&list[i], brand))
            continue;
        ret->count++;
        if (list[i].memory_bytes != UINT64_MAX)
            ret->memory_bytes += (double)list[i].memory_bytes;
    }
    return ret->count > 0 ? choose_some(list, count, uuids, brand, ret)
                          : choose_none(brand, ret);
}

/* Should it answer later its GPUs are tracked. */
static int pass_over_silence(const char *uuids, struct gpu_tracker_gpus *ret)
{
    *ret = (struct gpu_tracker_gpus){ .is_silent = true };
    (void)fail(ret, ETIMEDOUT, "The GPU driver does not respond." REMAIN);
    ret->selection = strdup(uuids ? uuids : "all");
    return ret->selection ? 0 : fail(ret, ENOMEM, "out of memory");
}

static bool is_installed(const char *program)
{
    const char *folder = getenv("PATH");

    while (folder && *folder) {
        size_t length = strcspn(folder, ":");
        char path[PATH_MAX];
        int n = snprintf(path, sizeof(path), "%.*s/%s", (int)length, folder, program);

        if (n > 0 && (size_t)n < sizeof(path) && access(path, X_OK) == 0)
            return true;
        folder += length + (folder[length] == ':');
    }
    return false;
}

/* We need none of these commands, but people know the warning in these words. */
static void warn_of_tools(struct gpu_tracker_gpus *gpus)
{
    static const char *const tools[] = { "nvidia-smi", "amd-smi" };

    for (size_t i = 0; i < ARRAY_SIZE(tools); i++) {
        if (is_installed(tools[i])) {
            (void)fail(gpus, ENODEV,
                       "The %s command is installed but cannot connect to a GPU." REMAIN,
                       tools[i]);
            return;
        }
    }
}

int gpu_tracker_gpus_find(const char *uuids, const char *brand, struct gpu_tracker_gpus *ret)
{
    CLEANUP(list_done) struct list list = { 0 };
    struct spoor_error err;
    int found = spoor_gpu_list(NULL, "all", keep, &list, &err);
    int r;

    if (found == -ETIMEDOUT)
        return pass_over_silence(uuids, ret);
    if (list.is_full)
        return fail(ret, ENOMEM, "out of memory");
    r = gpu_tracker_gpus_choose(list.gpus, list.count, uuids, brand, ret);
    if (found == 0 && r == 0 && ret->count == 0)
        warn_of_tools(ret);
    if (found < 0 && ret->count == 0) /* there is one, which we cannot speak with */
        (void)fail(ret, ENODEV, "%s." REMAIN, err.message);
    return r;
}

int gpu_tracker_gpus_ask(spoor_session *session, const char *uuids, const char *brand,
                         struct gpu_tracker_gpus *ret)
{
    CLEANUP(list_done) struct list list = { 0 };
    int found = spoor_session_gpus(session, keep, &list, NULL);

    if (found < 0)
        return pass_over_silence(uuids, ret);
    if (list.is_full)
        return fail(ret, ENOMEM, "out of memory");
    if (list.count == 0) /* why? */
        return gpu_tracker_gpus_find(uuids, brand, ret);
    return gpu_tracker_gpus_choose(list.gpus, list.count, uuids, brand, ret);
}

void gpu_tracker_gpus_done(struct gpu_tracker_gpus *gpus)
{
    free(gpus->selection);
    gpus->selection = NULL;
}
