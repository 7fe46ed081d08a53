/* SPDX-License-Identifier: Apache-2.0 */
#include "script.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static uint64_t now_ns(clockid_t clock)
{
    struct timespec time;

    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

uint64_t script_monotonic_ns(void)
{
    return now_ns(CLOCK_MONOTONIC);
}

uint64_t script_cpu_ns(void)
{
    return now_ns(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t script_realtime_us(void)
{
    return now_ns(CLOCK_REALTIME) / 1000;
}

void script_load(struct script *script, uint64_t started_ns)
{
    const char *path = getenv("SPOOR_NVML_SCRIPT");
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    size_t used = 0;
    ssize_t n;

    while (fd >= 0 && used < sizeof(script->text) - 1 &&
           (n = read(fd, script->text + used, sizeof(script->text) - 1 - used)) > 0)
        used += (size_t)n;
    script->text[used] = '\0';
    if (fd >= 0)
        close(fd);
    script->elapsed_ms = (script_monotonic_ns() - started_ns) / 1000000;
}

bool script_is_there(void)
{
    const char *path = getenv("SPOOR_NVML_SCRIPT");

    return path && access(path, R_OK) == 0;
}

void script_note_call(const char *call)
{
    const char *path = getenv("SPOOR_NVML_CALLS");
    int fd = path ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666) : -1;
    char line[96];

    if (fd < 0)
        return;
    (void)snprintf(line, sizeof(line), "%s\n", call);
    (void)!write(fd, line, strlen(line)); /* on failure, a test that waits for it fails */
    close(fd);
}

static const char *skip_blanks(const char *text)
{
    while (*text == ' ' || *text == '\t')
        text++;
    return text;
}

uint64_t script_number(const char **cursor, uint64_t missing)
{
    const char *start = skip_blanks(*cursor);
    char *end;
    uint64_t value;

    if (!isdigit((unsigned char)*start)) {
        *cursor = start + (*start == '-');
        return missing;
    }
    value = strtoull(start, &end, 10);
    *cursor = end;
    return value;
}

/* Skips the "@MS " of a line. Returns NULL if the line does not apply yet. */
static const char *active(const struct script *script, const char *line)
{
    const char *cursor = line + 1;

    if (*line != '@')
        return line;
    return script_number(&cursor, 0) <= script->elapsed_ms ? skip_blanks(cursor) : NULL;
}

const char *script_line(const struct script *script, size_t n, const char *words)
{
    size_t length = strlen(words);

    for (const char *line = script->text; *line;) {
        const char *fact = active(script, line);

        if (fact && strncmp(fact, words, length) == 0 && strchr(" \t\n", fact[length]) &&
            n-- == 0)
            return skip_blanks(fact + length);
        /* Not strcspn(): if a sanitizer checks strings strictly, it reads the whole script. */
        while (*line && *line++ != '\n')
            continue;
    }
    return NULL;
}

const char *script_last(const struct script *script, const char *words)
{
    const char *found = NULL;
    const char *next;

    for (size_t n = 0; (next = script_line(script, n, words)); n++)
        found = next;
    return found;
}

void script_text(const char *cursor, char *buf, size_t size)
{
    size_t length = strcspn(cursor, "\n");

    length = length < size ? length : size - 1;
    memcpy(buf, cursor, length);
    buf[length] = '\0';
}

size_t script_bytes(const char *cursor, char *buf, size_t size)
{
    static const char digits[] = "0123456789abcdef";
    size_t used = 0;

    for (; used<size && * cursor> ' ' && cursor[1] > ' '; cursor += 2) {
        const char *high = strchr(digits, cursor[0]), *low = strchr(digits, cursor[1]);

        if (!high || !low)
            break;
        buf[used++] = (char)((high - digits) * 16 + (low - digits));
    }
    return used;
}
