/* SPDX-License-Identifier: Apache-2.0 */
/*
 * standin.h - declarations shared by the files of the stand-in.
 *
 * Generations of drivers differ in their functions. Each is built as a separate library, with
 * STANDIN_GENERATION set to one of the numbers below.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "script.h"
#include "source/gpu/nvidia_nvml.h"

#define GENERATION_BROKEN 0 /* lacks a required function */
#define GENERATION_BARE 1   /* has only the required functions */
#define GENERATION_V340 2   /* original functions: list elements of 16 bytes, no samples */
#define GENERATION_V470 3   /* _v2: list elements of 24 bytes, MIG, no GPM */
#define GENERATION_V510 4   /* _v3: list elements of 24 bytes */
#define GENERATION_V530 5   /* _v3: list elements of 32 bytes */
#define GENERATION_FULL 6   /* _v3: list elements of 24 bytes, and everything else */

#define EXPORT __attribute__((visibility("default")))

struct node {
    char name[8]; /* "0", "0.2" */
};

/* Begins a call: records it, reads the script of this thread, then blocks and uses CPU time as
 * the script demands. Returns the scripted failure, or 0. */
int standin_enter(const char *call, nvml_device device);
const struct script *standin_script(void);

/* Returns the node of a handle. */
const struct node *standin_node(nvml_device device);

/* Builds "WORD N REST", the start of a line. */
const char *standin_words(char buf[96], const char *word, nvml_device device, const char *rest);

/* Reads a number of a device. Returns false if the script has none. */
bool standin_number(nvml_device device, const char *key, uint64_t *ret);

/* Returns the time of day when the library was started. */
uint64_t standin_started_us(void);

/* Returns how often `call` was made before while the script had a `grow` line for it. */
unsigned standin_times(const char *call);
