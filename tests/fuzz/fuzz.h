/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz.h - the parsers that read what others wrote, as functions of bytes.
 *
 * A target must survive any input, without leaks and in time linear in its size, and checks what
 * its parser promises. fuzz.c runs one target under libFuzzer (make fuzz); replay.c runs all of them
 * on saved inputs and on mutants of these (make test).
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FUZZ_INPUT_MAX = 64 << 10 };

/* `text` is followed by a NUL, and by nothing that may be read. It may be changed. */
typedef void fuzz_function(char *text, size_t length);

struct fuzz_target {
    const char *name;
    fuzz_function *run;
    unsigned cost; /* of a run, in some 10 us: replay.c makes fewer mutants of a costly one */
};

/* A target for each kind of text; rows without a name end a table. */
extern const struct fuzz_target proc_targets[], host_targets[], cgroup_targets[],
    event_targets[], gpu_targets[], nvml_targets[], text_targets[], record_targets[],
    store_targets[], front_targets[], net_targets[], machine_targets[];

/* The target of that number, from 0; NULL: there are no more. */
const struct fuzz_target *fuzz_target(size_t number);

/* NULL: there is none. */
const struct fuzz_target *fuzz_find(const char *name);

/* Runs a target on a copy of the data. */
void fuzz_run(const struct fuzz_target *target, const void *data, size_t length);

/* Aborts with a message. Not assert(): it must work in every build. */
#define CHECK(condition) ((condition) ? (void)0 : fuzz_fail(__FILE__, __LINE__, #condition))
_Noreturn void fuzz_fail(const char *file, int line, const char *what);

/* Is a text NUL-ended within an array? */
#define CHECK_ENDED(array) CHECK(memchr((array), '\0', sizeof(array)) != NULL)

/* ---- inputs of several parts ---------------------------------------------------- */

/* A part begins with a line "@@ NAME" and ends before the next one. What comes before the first is a
 * part without a name. */
struct fuzz_part {
    char *name, *text; /* NUL-ended */
    size_t length;     /* of the text, which may hold NULs */
};

enum { FUZZ_PARTS_MAX = 128 };

/* Splits a text in place. Returns how many parts there are. */
size_t fuzz_split(char *text, size_t length, struct fuzz_part parts[FUZZ_PARTS_MAX]);

/* The text of the first part of that name; "": there is none. */
const char *fuzz_part_text(const struct fuzz_part *parts, size_t count, const char *name);

/* ---- files ---------------------------------------------------------------------- */

struct root;

/* A folder of ours, removed at the end of the process that called this first. */
const char *fuzz_scratch(void);

/* A memory file with these contents, at its start. The caller closes it. */
int fuzz_file(const void *data, size_t length);

/* The path of such a file in our scratch folder, valid until the next call. It is overwritten by the
 * next one of the same name. */
const char *fuzz_path(const char *name, const void *data, size_t length);

/* The folder in which parts become files: "@@ proc/42/stat", or links: "@@ proc/42/fd/3 > TARGET".
 * Names that lead out of it are ignored. It is emptied after the run. */
const struct root *fuzz_root(const struct fuzz_part *parts, size_t count);
void fuzz_root_clear(void);

/* An empty one. */
const struct root *fuzz_empty_root(void);

#endif
