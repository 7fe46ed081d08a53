/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "job/job.h"
#include "unit_test.h"

TEST(each_untracked_program_has_its_own_bit_and_name)
{
    unsigned all = 0;

    assert_true(untracked_count <= 32);
    for (size_t i = 0; i < untracked_count; i++) {
        const struct untracked *program = &untracked_programs[i];
        unsigned bit = untracked_bit(program->name);

        assert_int_equal(bit, 1u << i);
        assert_int_equal(all & bit, 0);
        all |= bit;
        assert_non_null(strstr(program->message, program->name));
    }
}

TEST(other_programs_have_no_untracked_bit)
{
    assert_int_equal(untracked_bit(""), 0);
    assert_int_equal(untracked_bit("sru"), 0);
    assert_int_equal(untracked_bit("srunner"), 0);
}
