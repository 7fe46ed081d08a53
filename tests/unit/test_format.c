/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "output/format.h"
#include "unit_test.h"

TEST(option_value_or_file_suffix_selects_the_format)
{
    char path[64];

    for (int i = 0; format_get((enum spoor_format)i); i++) {
        const struct format *row = format_get((enum spoor_format)i);
        enum spoor_format by_name, by_path;

        assert_true(!row->write != !row->write_all);
        assert_true(spoor_format_for_name(row->name, &by_name));
        assert_int_equal(by_name, i);
        if (!row->suffix)
            continue;
        (void)snprintf(path, sizeof(path), "a.b/c%s", row->suffix);
        assert_true(spoor_format_for_path(path, &by_path));
        assert_int_equal(by_path, i);
    }
    assert_non_null(format_get(SPOOR_CSV));
    assert_null(format_get((enum spoor_format)1000));
}

TEST(other_names_select_no_format)
{
    static const char *const names[] = { "", "JSON", "jso", "json ", ".json" };
    static const char *const paths[] = {
        "", ".json", "json", "a.JSON", "a.json.gz", "a.json/b"
    };
    enum spoor_format format = SPOOR_CSV;

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        assert_false(spoor_format_for_name(names[i], &format));
    for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
        assert_false(spoor_format_for_path(paths[i], &format));
    assert_int_equal(format, SPOOR_CSV);
}
