/* SPDX-License-Identifier: Apache-2.0 */
/* unit_test.h - cmocka, after the headers that it needs. */
#ifndef TESTS_UNIT_TEST_H
#define TESTS_UNIT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>

/* cmocka passes a state to every test; few need it. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

#endif
