/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <string.h>

#include "base/error.h"
#include "unit_test.h"

TEST(signals_have_the_names_of_the_man_page)
{
    assert_string_equal(signal_name(SIGHUP), "SIGHUP");
    assert_string_equal(signal_name(SIGKILL), "SIGKILL");
    assert_string_equal(signal_name(SIGIO), "SIGPOLL");
    assert_string_equal(signal_name(SIGSYS), "SIGSYS");
}

TEST(every_standard_signal_has_its_own_name)
{
    for (int number = 1; number < 32; number++) {
        assert_non_null(signal_name(number));
        for (int other = 1; other < number; other++)
            assert_string_not_equal(signal_name(number), signal_name(other));
    }
}

TEST(other_signal_numbers_have_no_name)
{
    assert_null(signal_name(0));
    assert_null(signal_name(-1));
    assert_null(signal_name(32));
    assert_null(signal_name(SIGRTMIN));
    assert_null(signal_name(SIGRTMAX + 1));
}
