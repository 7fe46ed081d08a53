/* SPDX-License-Identifier: Apache-2.0 */
/* compiler.h - compiler extensions beyond C11. */
#ifndef BASE_COMPILER_H
#define BASE_COMPILER_H

#define PRINTF_LIKE(text, first) __attribute__((format(printf, text, first)))
#define CLEANUP(function) __attribute__((cleanup(function)))
#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

#endif
