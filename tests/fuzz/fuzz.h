/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz.h - fuzz targets: each passes a string of bytes to a parser of untrusted input.
 *
 * A target must survive any input, without leaks and in time linear in its size, and checks the
 * guarantees of its parser. fuzz.c runs one target under libFuzzer (make fuzz); replay.c runs
 * all of them on saved inputs and on mutants of these (make test).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FUZZ_INPUT_MAX = 64 << 10 };

/* `text` is followed by a NUL, beyond which no byte may be read. The target may change the
 * text. */
typedef void fuzz_function(char *text, size_t length);

struct fuzz_target {
    const char *name;
    fuzz_function *run;
    unsigned cost; /* cost of a run, in units of 10 us: replay.c makes fewer mutants of an
                    * expensive target */
};

/* Tables of targets, one per kind of input. A row without a name ends a table. */
extern const struct fuzz_target proc_targets[], host_targets[], cgroup_targets[],
    event_targets[], gpu_targets[], nvml_targets[], text_targets[], record_targets[],
    store_targets[], front_targets[], net_targets[], machine_targets[];

/* Returns the target with this number, from 0; NULL if there are no more targets. */
const struct fuzz_target *fuzz_target(size_t number);

/* Returns NULL if there is no such target. */
const struct fuzz_target *fuzz_find(const char *name);

/* Runs a target on a copy of the data. */
void fuzz_run(const struct fuzz_target *target, const void *data, size_t length);

/* Aborts with a message if the condition is false. Unlike assert(), active in every build. */
#define CHECK(condition) ((condition) ? (void)0 : fuzz_fail(__FILE__, __LINE__, #condition))
_Noreturn void fuzz_fail(const char *file, int line, const char *what);

/* Checks that an array contains a NUL-terminated string. */
#define CHECK_ENDED(array) CHECK(memchr((array), '\0', sizeof(array)) != NULL)

/* ---- inputs of several parts ---------------------------------------------------- */

/* A part begins with a line "@@ NAME" and ends before the next one. Text before the first such line
 * is a part without a name. */
struct fuzz_part {
    char *name, *text; /* terminated by a NUL */
    size_t length;     /* length of the text, which may contain NULs */
};

enum { FUZZ_PARTS_MAX = 128 };

/* Splits a text in place. Returns the number of parts. */
size_t fuzz_split(char *text, size_t length, struct fuzz_part parts[FUZZ_PARTS_MAX]);

/* Returns the text of the first part with this name; "" if there is no such part. */
const char *fuzz_part_text(const struct fuzz_part *parts, size_t count, const char *name);

/* ---- files ---------------------------------------------------------------------- */

struct root;

/* Returns a scratch folder, removed when the process that called this first exits. */
const char *fuzz_scratch(void);

/* Returns a descriptor of a memory file with these contents, positioned at its start. The
 * caller closes it. */
int fuzz_file(const void *data, size_t length);

/* Writes a file to the scratch folder and returns its path, valid until the next call. The next
 * call with the same name overwrites the file. */
const char *fuzz_path(const char *name, const void *data, size_t length);

/* Creates a folder with a file for each part, such as "@@ proc/42/stat", or a link, such as
 * "@@ proc/42/fd/3 > TARGET". Names that lead out of the folder are ignored. fuzz_run()
 * empties the folder after each run. */
const struct root *fuzz_root(const struct fuzz_part *parts, size_t count);
void fuzz_root_clear(void);

/* Returns an empty folder. */
const struct root *fuzz_empty_root(void);
