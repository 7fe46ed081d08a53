/* SPDX-License-Identifier: Apache-2.0 */
#include "services/cloud/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/compiler.h"
#include "output/output_file.h"
#include "services/cloud/answer.h"
#include "text/json_writer.h"

enum { FILE_MAX = 16 << 10 };

static const struct {
    const char *key;
    size_t offset, size;
} members[] = {
#define MEMBER(name)                                                                       \
    {                                                                                      \
#name, offsetof(struct cloud_facts, name), sizeof(((struct cloud_facts *)0)->name) \
    }
    MEMBER(vendor), MEMBER(region), MEMBER(zone), MEMBER(instance_type), MEMBER(account),
};

/* ---- where it is ---------------------------------------------------------- */

/* Changes with every boot. -ENOENT: unknown. */
static int read_boot_id(const struct root *root, char *buf, size_t size)
{
    char text[128];
    ssize_t n = root_read(root, text, sizeof(text), "proc/sys/kernel/random/boot_id");

    return n > 0 && cloud_value_copy(text, (size_t)n, buf, size) == 0 ? 0 : -ENOENT;
}

/* The user's folder for caches. It must be ours: with sudo, HOME may still be another user's. */
static int find_folder(environment_get *get_variable, char *buf, size_t size)
{
    const char *cache = get_variable("XDG_CACHE_HOME"), *home = get_variable("HOME");
    bool has_cache = cache && *cache == '/';
    struct stat status;
    int n;

    if (!has_cache && (!home || *home != '/'))
        return -ENOENT;
    if (stat(has_cache ? cache : home, &status) < 0 || status.st_uid != geteuid())
        return -ENOENT;
    n = has_cache ? snprintf(buf, size, "%s", cache) : snprintf(buf, size, "%s/.cache", home);
    return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

static int find_path(environment_get *get_variable, bool is_made, char *buf, size_t size)
{
    static const char folder[] = "/spoor", file[] = "/cloud.json";
    int r = find_folder(get_variable, buf, size);
    size_t length;

    if (r < 0)
        return r;
    length = strlen(buf);
    if (length + sizeof(folder) + sizeof(file) > size)
        return -ENAMETOOLONG;
    if (is_made)
        (void)mkdir(buf, 0700); /* it may exist; otherwise the file cannot be made */
    memcpy(buf + length, folder, sizeof(folder));
    if (is_made)
        (void)mkdir(buf, 0700);
    memcpy(buf + length + strlen(folder), file, sizeof(file));
    return 0;
}

/* ---- reading -------------------------------------------------------------- */

/* Of a regular file that only we can write. */
static json_t *load(const char *path)
{
    CLEANUP(buffer_done) struct buffer text = { 0 };
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat status;

    if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) ||
        status.st_uid != geteuid() || status.st_mode & (S_IWGRP | S_IWOTH) ||
        buffer_read(&text, fd, FILE_MAX) < 0)
        return NULL;
    return json_loads(text.text, JSON_REJECT_DUPLICATES, NULL);
}

static bool is_text(const json_t *document, const char *key, const char *expected)
{
    const char *text = json_string_value(json_object_get(document, key));

    return text && strcmp(text, expected) == 0;
}

static int take_facts(const json_t *document, struct cloud_facts *ret)
{
    struct cloud_facts facts = { 0 };

    for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
        const json_t *value = json_object_get(document, members[i].key);

        if (json_is_null(value))
            continue;
        if (!json_is_string(value) ||
            cloud_value_copy(json_string_value(value), json_string_length(value),
                             (char *)&facts + members[i].offset, members[i].size) < 0)
            return -ENOENT;
    }
    *ret = facts;
    return 0;
}

int cloud_cache_read(const struct root *root, environment_get *get_variable,
                     const struct cloud_cache_key *key, struct cloud_facts *ret)
{
    char path[PATH_MAX], boot_id[64];
    json_t *document;
    int r = -ENOENT;

    if (read_boot_id(root, boot_id, sizeof(boot_id)) < 0 ||
        find_path(get_variable, false, path, sizeof(path)) < 0)
        return -ENOENT;
    document = load(path);
    if (is_text(document, "boot_id", boot_id) && is_text(document, "service", key->url) &&
        is_text(document, "vendor", key->vendor))
        r = take_facts(document, ret);
    json_decref(document);
    return r;
}

/* ---- writing -------------------------------------------------------------- */

static void describe(const struct cloud_cache_key *key, const char *boot_id,
                     const struct cloud_facts *facts, struct buffer *out)
{
    struct json_writer json = { .out = out };

    json_begin(&json, NULL, '{');
    json_add_text(&json, "boot_id", boot_id);
    json_add_text(&json, "service", key->url);
    for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
        const char *text = (const char *)facts + members[i].offset;

        json_add_text(&json, members[i].key, *text ? text : NULL);
    }
    json_end(&json);
    buffer_add(out, "\n", 1);
}

void cloud_cache_write(const struct root *root, environment_get *get_variable,
                       const struct cloud_cache_key *key, const struct cloud_facts *facts)
{
    CLEANUP(buffer_done) struct buffer text = { 0 };
    char path[PATH_MAX], boot_id[64];
    struct replacement file;

    if (read_boot_id(root, boot_id, sizeof(boot_id)) < 0 ||
        find_path(get_variable, true, path, sizeof(path)) < 0)
        return;
    describe(key, boot_id, facts, &text);
    if (buffer_error(&text) < 0 || replacement_open(&file, path, true) < 0)
        return;
    if (buffer_write(&text, file.fd) < 0)
        replacement_cancel(&file);
    else
        (void)replacement_commit(&file, false); /* asked again if it fails */
}
