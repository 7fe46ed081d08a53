/* SPDX-License-Identifier: Apache-2.0 */
/* fake_root.h - a temporary folder that stands for "/", for tests of readers. */
#pragma once

#include "base/compiler.h"
#include "base/root.h"

struct fake_root {
    char path[64];
    struct root root;
};

/* Creates an empty temporary folder and opens it. Fails the test on an error. */
void fake_root_init(struct fake_root *fake);

/* Removes the folder and its contents. */
void fake_root_done(struct fake_root *fake);

/* A test whose state is a fake root. */
#define FAKE_ROOT_TEST(name) TEST_WITH(name, fake_root_set_up, fake_root_tear_down)
int fake_root_set_up(void **state);
int fake_root_tear_down(void **state);

/* Writes a file; creates its folders if needed:
 * fake_root_write(&f, "proc/42/stat", "42 (x) ..."). */
void fake_root_write(struct fake_root *fake, const char *path, const char *text);

/* Creates a symbolic link; creates its folders if needed. */
void fake_root_link(struct fake_root *fake, const char *path, const char *target);
