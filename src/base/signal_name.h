/* SPDX-License-Identifier: Apache-2.0 */
/* signal_name.h - names of signals. sigabbrev_np() would need glibc 2.32; musl does not have it. */
#ifndef BASE_SIGNAL_NAME_H
#define BASE_SIGNAL_NAME_H

/* "SIGHUP"; NULL: a real-time signal, or not a signal. */
const char *signal_name(int number);

#endif
