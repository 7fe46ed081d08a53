/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_root.h"
#include "front/common/read_file.h"

enum { MAX = 8192 };

static void check(struct fake_root *fake, const char *content)
{
    char path[128];
    char *text = NULL;
    size_t length = 0;

    fake_root_write(fake, "file", content);
    (void)snprintf(path, sizeof(path), "%s/file", fake->path);
    assert_int_equal(read_file(path, MAX, &text, &length), 0);
    assert_int_equal(length, strlen(content));
    assert_string_equal(text, content);
    free(text);
}

static void files_are_read_whole(void **state)
{
    char large[MAX];
    struct fake_root fake;

    (void)state;
    fake_root_init(&fake);
    check(&fake, "");
    check(&fake, "a");
    memset(large, 'x', sizeof(large));
    large[MAX - 1] = '\0';
    check(&fake, large);
    large[4096] = '\0'; /* the first piece, filled to the brim */
    check(&fake, large);
    fake_root_done(&fake);
}

static void what_cannot_be_read_is_an_error(void **state)
{
    size_t length = 7;
    char *text = NULL;

    (void)state;
    assert_int_equal(read_file("/dev/zero", MAX, &text, &length), -EFBIG);
    assert_int_equal(read_file("/no/such/file", MAX, &text, &length), -ENOENT);
    assert_int_equal(read_file("/", MAX, &text, &length), -EISDIR);
    assert_null(text);
    assert_int_equal(length, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_read_whole),
        cmocka_unit_test(what_cannot_be_read_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
