/* SPDX-License-Identifier: Apache-2.0 */

#include "base/reserve.h"
#include "unit_test.h"

TEST(elements_survive_growth)
{
    size_t capacity = 0, changes = 0;
    int *list = NULL;

    for (int i = 0; i < 1000; i++) {
        size_t before = capacity;

        assert_int_equal(reserve(&list, &capacity, (size_t)i + 1, sizeof(*list)), 0);
        changes += capacity != before;
        list[i] = i;
    }
    for (int i = 0; i < 1000; i++)
        assert_int_equal(list[i], i);
    assert_true(changes < 10);
    assert_int_equal(reserve(&list, &capacity, 5000, sizeof(*list)), 0);
    assert_true(capacity >= 5000);
    free(list);
}

TEST(a_failed_reservation_changes_nothing)
{
    size_t capacity = 0;
    int *list = NULL, *before;

    assert_int_equal(reserve(&list, &capacity, 1, sizeof(*list)), 0);
    before = list;
    assert_int_equal(reserve(&list, &capacity, SIZE_MAX / 8, sizeof(*list)), -ENOMEM);
    assert_ptr_equal(list, before);
    assert_int_equal(capacity, 16);
    free(list);
}
