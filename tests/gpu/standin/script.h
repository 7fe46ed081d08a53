/* SPDX-License-Identifier: Apache-2.0 */
/*
 * script.h - the answers of the stand-in for NVIDIA's library, read from a text file.
 *
 * The environment variable SPOOR_NVML_SCRIPT names the file. Every call reads it again, so a
 * test changes the machine by rewriting it. Each line is one fact; a later line replaces an
 * earlier one about the same thing. "@MS " before a line makes it true from MS
 * milliseconds after the library was started. N is a device (0) or a part of one (0.2).
 *
 *     # a comment
 *     driver TEXT                 the version of the driver
 *     device N uuid TEXT          also: name TEXT, name_hex BYTES, pci DOMAIN:BUS:DEVICE (decimal)
 *     device N total BYTES        also: used, reserved, power, energy, temperature, clock,
 *                                 throttle, rates, encoder, decoder (all plain numbers)
 *     device N mig 1              the device has parts: 0.0, 0.1, ...
 *     device N instance ID        the GPU instance of a part
 *     device N accounting 1
 *     process N LIST PID BYTES    LIST: compute, graphics, mps; BYTES "-": not available,
 *                                 "gone": exited
 *     sample N KIND STAMP VALUE   a buffered sample; KIND: gpu, encoder, decoder; STAMP in us
 *     stream N KIND MS VALUE      a sample every MS milliseconds since the start, stamped
 *                                 with the time of day
 *     usage N PID STAMP PERCENT   a buffered sample that names a process; omitted once the process
 *                                 is gone
 *     busy N PID MS PERCENT       a process sample every MS milliseconds since the start
 *     encoding PERCENT            use of the encoder in the samples of processes
 *     account N PID PEAK MS START RUNNING PERCENT
 *     gpm N INSTANCE PERCENT      the performance monitor; INSTANCE "all" is the whole device
 *     gpm N metric ID VALUE       another metric of the whole device, by NVML's number
 *     value_type TYPE             the reported type of the samples
 *     fail CALL STATUS            the call returns STATUS; CALL@N: only for device N
 *     block CALL MS               the call blocks for MS milliseconds, or until the script is
 *                                 removed or demands less
 *     cost CALL US                the call uses US microseconds of CPU time; CALL "any": all
 *                                 calls without a line of their own
 *     grow CALL TIMES             the call reports one element more than its buffer holds,
 *                                 TIMES times; for process lists and process samples
 *     flood CALL COUNT            the call reports COUNT elements, whatever the buffer holds
 *
 * If SPOOR_NVML_CALLS names a file, each call appends its name to it, so that a test can wait for
 * the call.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct script {
    char text[65536];
    uint64_t elapsed_ms; /* since the library was started */
};

/* Appends the call to the file of calls. */
void script_note_call(const char *call);

/* Returns whether the script file exists. */
bool script_is_there(void);

/* Reads the script file; a missing file is an empty script. */
void script_load(struct script *script, uint64_t started_ns);

/* Returns the text after `words` on the `n`th line (from 0) that begins with them, or NULL. */
const char *script_line(const struct script *script, size_t n, const char *words);

/* Like script_line(), for the last such line. */
const char *script_last(const struct script *script, const char *words);

/* Returns the next number and advances; `missing` if there is no number, or "-". */
uint64_t script_number(const char **cursor, uint64_t missing);

/* Copies the rest of the line. */
void script_text(const char *cursor, char *buf, size_t size);

/* Like script_text(), for bytes in hexadecimal, without a terminating NUL. */
size_t script_bytes(const char *cursor, char *buf, size_t size);

uint64_t script_monotonic_ns(void);
uint64_t script_cpu_ns(void); /* of this thread */
uint64_t script_realtime_us(void);
