/* SPDX-License-Identifier: Apache-2.0 */
/*
 * script.h - what the stand-in for NVIDIA's library says, read from a text file.
 *
 * The environment variable SPOOR_NVML_SCRIPT names the file. It is read anew at every call, so
 * that a test changes the machine by writing it again. Each line is one fact; a later line
 * replaces an earlier one about the same. "@MS " before a line makes it true from MS
 * milliseconds after the library was started. N is a device, as 0, or a part of one, as 0.2.
 *
 *     # a comment
 *     driver TEXT                 the version of the driver
 *     device N uuid TEXT          also: name TEXT, name_hex BYTES, pci DOMAIN:BUS:DEVICE (decimal)
 *     device N total BYTES        also: used, reserved, power, energy, temperature, clock,
 *                                 throttle, rates, encoder, decoder (all plain numbers)
 *     device N mig 1              its parts are those named 0.0, 0.1, ...
 *     device N instance ID        of a part: its GPU instance
 *     device N accounting 1
 *     process N LIST PID BYTES    LIST: compute, graphics, mps; BYTES "-": not available,
 *                                 "gone": no longer
 *     sample N KIND STAMP VALUE   a buffered sample; KIND: gpu, encoder, decoder; STAMP in us
 *     stream N KIND MS VALUE      one every MS milliseconds since the start, stamped with today's time
 *     usage N PID STAMP PERCENT   a buffered sample that names a process; those of one that is gone
 *                                 are told no more
 *     busy N PID MS PERCENT       one every MS milliseconds since the start
 *     encoding PERCENT            that samples of processes say of the encoder
 *     account N PID PEAK MS START RUNNING PERCENT
 *     gpm N INSTANCE PERCENT      the performance monitor; INSTANCE "all" is the whole device
 *     gpm N metric ID VALUE       another metric of the whole device, by NVML's number
 *     value_type TYPE             the type the samples are said to have
 *     fail CALL STATUS            that call returns STATUS; CALL@N for one device alone
 *     block CALL MS               that call takes so long, or until the script is gone or has less
 *     cost CALL US                that call takes so much CPU time; "any" for those not named
 *     grow CALL TIMES             so many times that call finds one process more than there is room;
 *                                 of lists, and of what processes were busy with
 *     flood CALL COUNT            that call says that it wrote COUNT elements, whatever the room
 *
 * Where SPOOR_NVML_CALLS names a file, each call adds a line with its name to it, so that a test
 * can wait until it was asked.
 */
#ifndef TESTS_GPU_STANDIN_SCRIPT_H
#define TESTS_GPU_STANDIN_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct script {
    char text[65536];
    uint64_t elapsed_ms; /* since the library was started */
};

/* Notes that a call was made. */
void script_note_call(const char *call);

/* Is there a script to play? */
bool script_is_there(void);

/* Reads the file; an empty script where there is none. */
void script_load(struct script *script, uint64_t started_ns);

/* What follows the words of `fmt` on the `n`th line (from 0) that begins with them, or NULL. */
const char *script_line(const struct script *script, size_t n, const char *words);

/* Likewise of the last such line. */
const char *script_last(const struct script *script, const char *words);

/* Reads the next number and moves on; `missing` where there is none, or "-". */
uint64_t script_number(const char **cursor, uint64_t missing);

/* Copies the rest of the line. */
void script_text(const char *cursor, char *buf, size_t size);

/* Like script_text, of bytes in hexadecimal, without an end. */
size_t script_bytes(const char *cursor, char *buf, size_t size);

uint64_t script_monotonic_ns(void);
uint64_t script_cpu_ns(void); /* of this thread */
uint64_t script_realtime_us(void);

#endif
