/* SPDX-License-Identifier: Apache-2.0 */
/* fake_root.h - a machine of a few files, for tests of readers. */
#ifndef TESTS_FAKE_ROOT_H
#define TESTS_FAKE_ROOT_H

#include "base/compiler.h"
#include "base/root.h"

struct fake_root {
    char path[64];
    struct root root;
};

/* Creates an empty temporary folder and opens it. Fails the test on an error. */
void fake_root_init(struct fake_root *fake);

/* Removes it with its content. */
void fake_root_done(struct fake_root *fake);

/* Writes a file and creates its folders: fake_root_write(&f, "proc/42/stat", "42 (x) ..."). */
void fake_root_write(struct fake_root *fake, const char *path, const char *text);

/* Creates a symbolic link, and its folders. */
void fake_root_link(struct fake_root *fake, const char *path, const char *target);

#endif
