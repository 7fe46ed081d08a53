/* SPDX-License-Identifier: Apache-2.0 */

#include "base/compiler.h"
#include "job/job.h"
#include "unit_test.h"

#define MB ((uint64_t)1 << 20)

TEST(page_faults_determine_the_owner_of_a_peak)
{
    static const struct {
        struct peak_evidence evidence;
        struct peak_owner owner;
    } rows[] = {
        /* A shell that waited for a large child, with and without huge pages. */
        { { 300 * MB, 3 * MB, 20, 78000, 4096 }, { false, true } },
        { { 300 * MB, 3 * MB, 20, 2300, 4096 }, { false, true } },
        { { 300 * MB, 3 * MB, 1000, 78000, 4096 }, { false, false } },
        { { 300 * MB, 3 * MB, 1000, 2300, 4096 }, { false, false } },
        /* A program that ran a small child and grew shortly before it exited. */
        { { 300 * MB, 20 * MB, 72000, 100, 4096 }, { true, true } },
        { { 300 * MB, 20 * MB, 72000, 400, 4096 }, { true, false } },
        { { 300 * MB, 20 * MB, 600, 400, 4096 }, { true, false } },
        /* A program that was seen close to its peak. */
        { { 200 * MB, 199 * MB, 0, 100, 4096 }, { true, false } },
        { { 200 * MB, 190 * MB, 100, 100, 4096 }, { true, false } },
        /* A program on a machine with pages of 64 KiB. */
        { { 300 * MB, 20 * MB, 4600, 400, 65536 }, { true, false } },
        { { 300 * MB, 20 * MB, 0, 400, 65536 }, { false, true } },
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct peak_owner owner = peak_owner_of(&rows[i].evidence);

        assert_int_equal(owner.is_main, rows[i].owner.is_main);
        assert_int_equal(owner.is_certain, rows[i].owner.is_certain);
    }
}
