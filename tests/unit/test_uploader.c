/* SPDX-License-Identifier: Apache-2.0 */
/* test_uploader.c - names of batches, and their summary. tests/functional/test_upload.py
 * tests the uploads. */
#include <errno.h>
#include <string.h>

#include "services/upload/uploader.h"
#include "unit_test.h"

TEST(batches_are_numbered)
{
    struct spool spool = { .run = { "r-1", "s3://b/c//" } };
    struct buffer uri = { 0 };

    assert_int_equal(uploader_add_uri(&spool, 7, &uri), 0);
    assert_string_equal(uri.text, "s3://b/c/r-1/000007.csv.gz");
    spool.has_short_keys = true;
    buffer_clear(&uri);
    assert_int_equal(uploader_add_uri(&spool, 12345, &uri), 0);
    assert_string_equal(uri.text, "s3://b/c/12345.csv.gz");
    buffer_done(&uri);
}
