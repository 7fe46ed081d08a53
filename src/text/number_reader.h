/* SPDX-License-Identifier: Apache-2.0 */
/* number_reader.h - numbers of large tables, read fast: a few parts in 10^16 may be lost. */
#ifndef TEXT_NUMBER_READER_H
#define TEXT_NUMBER_READER_H

/* Reads "-12.5e3" and moves the cursor behind it. 0, or -EBADMSG: there is no number. */
int number_read(const char **cursor, double *ret);

#endif
