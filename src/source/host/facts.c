/* SPDX-License-Identifier: Apache-2.0 */
#include "source/host/facts.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/cleanup.h"
#include "base/compiler.h"
#include "base/parse.h"
#include "base/unknown.h"
#include "source/host/cpu_stat.h"
#include "source/host/meminfo.h"

/* Copies a part of a text, cut to fit, without the blanks at its ends. */
static void copy_trimmed(const char *start, const char *end, char *buf, size_t size)
{
    static const char blanks[] = " \t\r\n";
    size_t length;

    while (start < end && strchr(blanks, *start))
        start++;
    while (end > start && strchr(blanks, end[-1]))
        end--;
    length = (size_t)(end - start);
    if (length >= size)
        length = size - 1;
    memcpy(buf, start, length);
    buf[length] = '\0';
}

/* The value of the first line "key   : value", or NULL. */
static const char *cpuinfo_value(const char *text, const char *key)
{
    size_t length = strlen(key);

    for (; *text; text = parse_next_line(text)) {
        const char *colon = text + length;

        if (strncmp(text, key, length) != 0)
            continue;
        colon += strspn(colon, " \t");
        if (*colon == ':')
            return colon + 1;
    }
    return NULL;
}

/* 64-bit ARM has numbers only. Those of servers and clouds, as Arm and the vendors name them. */
static const struct {
    const char *implementer, *part, *name;
} arm_models[] = {
    { "0x41", "0xd07", "Cortex-A57" },  { "0x41", "0xd08", "Cortex-A72" },
    { "0x41", "0xd0b", "Cortex-A76" },  { "0x41", "0xd0c", "Neoverse-N1" },
    { "0x41", "0xd40", "Neoverse-V1" }, { "0x41", "0xd49", "Neoverse-N2" },
    { "0x41", "0xd4f", "Neoverse-V2" }, { "0x41", "0xd83", "Neoverse-V3AE" },
    { "0x41", "0xd84", "Neoverse-V3" }, { "0x41", "0xd8e", "Neoverse-N3" },
    { "0x43", "0x0af", "ThunderX2" },   { "0x46", "0x001", "A64FX" },
    { "0x48", "0xd01", "Kunpeng-920" }, { "0xc0", "0xac3", "AmpereOne" },
    { "0xc0", "0xac4", "AmpereOne" },
};

static int parse_arm_model(const char *text, char *buf, size_t size)
{
    const char *implementer = cpuinfo_value(text, "CPU implementer");
    const char *part = cpuinfo_value(text, "CPU part");

    for (size_t i = 0; implementer && part && i < ARRAY_SIZE(arm_models); i++) {
        char words[2][16];
        const char *cursors[2] = { implementer, part };

        if (parse_word(&cursors[0], words[0], sizeof(words[0])) < 0 ||
            parse_word(&cursors[1], words[1], sizeof(words[1])) < 0)
            break;
        if (strcmp(words[0], arm_models[i].implementer) == 0 &&
            strcmp(words[1], arm_models[i].part) == 0) {
            (void)snprintf(buf, size, "%s", arm_models[i].name); /* cut to fit */
            return 0;
        }
    }
    return -ENOENT;
}

int cpuinfo_parse_model(const char *text, char *buf, size_t size)
{
    /* x86 and most others, boards with ARM, old ARM, MIPS, POWER */
    static const char *const keys[] = { "model name", "Model", "Processor", "cpu model",
                                        "cpu" };

    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        const char *value = cpuinfo_value(text, keys[i]);
        const char *end = value ? value + strcspn(value, "\n") : NULL;

        if (!value || value + strspn(value, " \t") == end)
            continue;
        copy_trimmed(value, end, buf, size);
        return 0;
    }
    return parse_arm_model(text, buf, size);
}

/* Copies a value as a shell would read it: quotes taken off and, but for single
 * ones, backslashes too. */
static void copy_unquoted(const char *value, char *buf, size_t size)
{
    char quote = *value == '"' || *value == '\'' ? *value : '\0';
    size_t used = 0;

    if (quote)
        value++;
    for (; *value && *value != '\n' && used + 1 < size; value++) {
        if (quote && *value == quote)
            break;
        if (*value == '\\' && quote != '\'' && value[1] && value[1] != '\n')
            value++;
        buf[used++] = *value;
    }
    buf[used] = '\0';
}

int os_release_parse_name(const char *text, char *buf, size_t size)
{
    static const char key[] = "PRETTY_NAME=";

    for (; *text; text = parse_next_line(text)) {
        const char *value = text + strlen(key);

        if (strncmp(text, key, strlen(key)) != 0 || *value == '\n' || *value == '\0')
            continue;
        copy_unquoted(value, buf, size);
        return 0;
    }
    return -ENOENT;
}

/* The one line of a file of /proc/sys. */
static void read_line(const struct root *root, const char *path, char *buf, size_t size)
{
    char text[512];

    if (root_read_start(root, text, sizeof(text), "%s", path) < 0)
        return;
    copy_trimmed(text, text + strcspn(text, "\n"), buf, size);
}

/* Holds /proc/cpuinfo of 64 CPUs (the model stands at the first, but for boards
 * with ARM, which have few) and the cpu lines of /proc/stat of 2000. */
enum { TEXT_SIZE = 256 * 1024 };

static void read_names(const struct root *root, struct host_facts *ret)
{
    struct utsname names;

    if (root->is_live && uname(&names) == 0) {
        (void)snprintf(ret->hostname, sizeof(ret->hostname), "%s", names.nodename); /* fit */
        (void)snprintf(ret->kernel, sizeof(ret->kernel), "%s", names.release);
        return;
    }
    read_line(root, "proc/sys/kernel/hostname", ret->hostname, sizeof(ret->hostname));
    read_line(root, "proc/sys/kernel/osrelease", ret->kernel, sizeof(ret->kernel));
}

void host_facts_read(const struct root *root, struct host_facts *ret)
{
    AUTO_FREE char *text = malloc(TEXT_SIZE);
    struct cpu_stat stat;
    struct meminfo memory;

    *ret = (struct host_facts){ .cpus = UNKNOWN, .memory_bytes = UNKNOWN };
    read_names(root, ret);
    if (!text)
        return;
    /* What cannot be read or parsed stays unknown. */
    if (root_read_start(root, text, TEXT_SIZE, "etc/os-release") >= 0 ||
        root_read_start(root, text, TEXT_SIZE, "usr/lib/os-release") >= 0)
        (void)os_release_parse_name(text, ret->os, sizeof(ret->os));
    if (root_read_start(root, text, TEXT_SIZE, "proc/cpuinfo") >= 0)
        (void)cpuinfo_parse_model(text, ret->cpu_model, sizeof(ret->cpu_model));
    if (root_read_start(root, text, TEXT_SIZE, "proc/meminfo") >= 0 &&
        meminfo_parse(text, &memory) == 0)
        ret->memory_bytes = memory.total_bytes;
    /* Only counted here, so any number of ticks will do. */
    if (root_read_start(root, text, TEXT_SIZE, "proc/stat") >= 0 &&
        cpu_stat_parse(text, 1, &stat) == 0)
        ret->cpus = stat.cpus;
}
