/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz.h - the parsers of untrusted input, as functions of bytes.
 *
 * A target must survive any input, without leaks and in time linear in its size, and checks the
 * guarantees of its parser. fuzz.c runs one target under libFuzzer (make fuzz); replay.c runs all of
 * them on saved inputs and on mutants of these (make test).
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FUZZ_INPUT_MAX = 64 << 10 };

/* `text` is followed by a NUL, and no byte after that may be read. It may be changed. */
typedef void fuzz_function(char *text, size_t length);

struct fuzz_target {
    const char *name;
    fuzz_function *run;
    unsigned cost; /* cost of a run, in units of 10 us: replay.c makes fewer mutants of an
                    * expensive target */
};

/* A target for each kind of text; a row without a name ends a table. */
extern const struct fuzz_target proc_targets[], host_targets[], cgroup_targets[],
    event_targets[], gpu_targets[], nvml_targets[], text_targets[], record_targets[],
    store_targets[], front_targets[], net_targets[], machine_targets[];

/* The target with that number, from 0; NULL: no more targets. */
const struct fuzz_target *fuzz_target(size_t number);

/* NULL: no such target. */
const struct fuzz_target *fuzz_find(const char *name);

/* Runs a target on a copy of the data. */
void fuzz_run(const struct fuzz_target *target, const void *data, size_t length);

/* Aborts with a message. Not assert(): it must work in every build. */
#define CHECK(condition) ((condition) ? (void)0 : fuzz_fail(__FILE__, __LINE__, #condition))
_Noreturn void fuzz_fail(const char *file, int line, const char *what);

/* Is a text terminated by a NUL within an array? */
#define CHECK_ENDED(array) CHECK(memchr((array), '\0', sizeof(array)) != NULL)

/* ---- inputs of several parts ---------------------------------------------------- */

/* A part begins with a line "@@ NAME" and ends before the next one. Text before the first such line
 * is a part without a name. */
struct fuzz_part {
    char *name, *text; /* terminated by a NUL */
    size_t length;     /* of the text, which may contain NULs */
};

enum { FUZZ_PARTS_MAX = 128 };

/* Splits a text in place. Returns the number of parts. */
size_t fuzz_split(char *text, size_t length, struct fuzz_part parts[FUZZ_PARTS_MAX]);

/* The text of the first part of that name; "": no such part. */
const char *fuzz_part_text(const struct fuzz_part *parts, size_t count, const char *name);

/* ---- files ---------------------------------------------------------------------- */

struct root;

/* A scratch folder, removed at the end of the process that called this first. */
const char *fuzz_scratch(void);

/* A memory file with these contents, at its start. The caller closes it. */
int fuzz_file(const void *data, size_t length);

/* The path of such a file in the scratch folder, valid until the next call. The next call with the
 * same name overwrites the file. */
const char *fuzz_path(const char *name, const void *data, size_t length);

/* The folder in which parts become files: "@@ proc/42/stat", or links: "@@ proc/42/fd/3 > TARGET".
 * Names that lead out of it are ignored. The folder is emptied after the run. */
const struct root *fuzz_root(const struct fuzz_part *parts, size_t count);
void fuzz_root_clear(void);

/* An empty folder. */
const struct root *fuzz_empty_root(void);

#endif
