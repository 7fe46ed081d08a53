/* SPDX-License-Identifier: Apache-2.0 */
/* compiler.h - compiler extensions beyond C11. */
#pragma once

#define PRINTF_LIKE(text, first) __attribute__((format(printf, text, first)))
#define CLEANUP(function) __attribute__((cleanup(function)))
/* The same for a variable that is only cleaned up, which clang calls unused. */
#define GUARD(function) __attribute__((cleanup(function), unused))
/* A parameter that only other functions of the same type need. */
#define UNUSED __attribute__((unused))
#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
