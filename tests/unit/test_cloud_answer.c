/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "services/cloud/answer.h"

#define TO(member)                                  \
    .offset = offsetof(struct cloud_facts, member), \
    .size = sizeof(((struct cloud_facts *)0)->member)

static const struct cloud_request json = {
    .path = "/x",
    .fields = { { .key = "a.b", TO(region) }, { .key = "list.1.c", TO(zone) } },
};
static const struct cloud_request text = {
    .path = "/x",
    .syntax = CLOUD_TEXT,
    .fields = { { TO(zone), .unknown = "nova" }, { TO(region), .drops_suffix = true } },
};
static const struct cloud_request lines = {
    .path = "/x",
    .syntax = CLOUD_LINES,
    .fields = { { .key = "region", TO(region) }, { .key = "type", TO(instance_type) } },
};
static const struct cloud_request proof = {
    .path = "/x",
    .fields = { { .key = "name", .expected = "me" }, { .key = "region", TO(region) } },
};

static void values_are_found(void **state)
{
    struct cloud_facts facts = { .account = "before" };

    (void)state;
    assert_int_equal(
        cloud_answer_parse(&json, "{\"a\":{\"b\":\"r-1\"},\"list\":[0,{\"c\":\"z\"}]}", &facts),
        0);
    assert_string_equal(facts.region, "r-1");
    assert_string_equal(facts.zone, "z");
    assert_string_equal(facts.account, "before");
    assert_int_equal(cloud_answer_parse(&text, "projects/1/zones/europe-west1-b\n", &facts), 0);
    assert_string_equal(facts.zone, "europe-west1-b");
    assert_string_equal(facts.region, "europe-west1");
    assert_int_equal(
        cloud_answer_parse(&lines, "regional: x\nregion: eu\ntype: cx22\n", &facts), 0);
    assert_string_equal(facts.region, "eu");
    assert_string_equal(facts.instance_type, "cx22");
}

static void only_the_first_value_must_be_there(void **state)
{
    struct cloud_facts facts = { 0 };

    (void)state;
    assert_int_equal(cloud_answer_parse(&json, "{\"a\":{\"b\":\"r\"},\"list\":{}}", &facts), 0);
    assert_string_equal(facts.region, "r");
    assert_string_equal(facts.zone, "");
    assert_int_equal(cloud_answer_parse(&lines, "type: x\n", &facts), -EBADMSG);
    assert_int_equal(cloud_answer_parse(&lines, "region: y\n", &facts), 0);
    assert_string_equal(facts.instance_type, "");
}

static void a_value_can_say_nothing(void **state)
{
    struct cloud_facts facts = { 0 };

    (void)state;
    assert_int_equal(cloud_answer_parse(&text, "nova", &facts), 0);
    assert_string_equal(facts.zone, "");
}

static void a_proof_must_be_right(void **state)
{
    struct cloud_facts facts = { 0 };

    (void)state;
    assert_int_equal(cloud_answer_parse(&proof, "{\"name\":\"me\",\"region\":\"r\"}", &facts),
                     0);
    assert_string_equal(facts.region, "r");
    facts = (struct cloud_facts){ 0 };
    assert_int_equal(cloud_answer_parse(&proof, "{\"name\":\"you\",\"region\":\"r\"}", &facts),
                     -EBADMSG);
    assert_int_equal(cloud_answer_parse(&proof, "{\"region\":\"r\"}", &facts), -EBADMSG);
    assert_string_equal(facts.region, "");
}

static void wrong_answers_are_refused(void **state)
{
    static const struct {
        const struct cloud_request *request;
        const char *text;
    } wrong[] = {
        { &json, "" },
        { &json, "<html><body>Log in</body></html>" },
        { &json, "[]" },
        { &json, "\"a\"" },
        { &json, "{" },
        { &json, "{}" },
        { &json, "{\"a\":\"b\"}" },
        { &json, "{\"a\":{\"b\":7}}" },
        { &json, "{\"a\":{\"b\":null}}" },
        { &json, "{\"a\":{\"b\":\"\"}}" },
        { &json, "{\"a\":{\"b\":\"two words\"}}" },
        { &json, "{\"a\":{\"b\":\"x\\u001b[31m\"}}" },
        { &json, "{\"a\":{\"b\":\"\xc3\xa9\"}}" },
        { &json, "{\"a\":{\"b\":\"r\"}} and more" },
        { &text, "" },
        { &text, " \n" },
        { &text, "zones/" },
        { &text, "<html><body>Log in</body></html>" },
        { &text, "Log in at http://example.com/login" },
        { &text, "a\nb" },
        { &lines, "region:\n" },
        { &lines, "region eu\n" },
        { &lines, "<html>\nregion: <b>eu</b>\n" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        struct cloud_facts facts = { .vendor = "v" }, before = facts;

        assert_int_equal(cloud_answer_parse(wrong[i].request, wrong[i].text, &facts), -EBADMSG);
        assert_memory_equal(&facts, &before, sizeof(facts)); /* untouched */
    }
}

static void long_values_are_refused_and_not_cut(void **state)
{
    struct cloud_facts facts = { 0 };
    char buf[4] = "old", value[400];

    (void)state;
    memset(value, 'a', sizeof(value));
    assert_int_equal(cloud_value_copy(value, 3, buf, sizeof(buf)), 0);
    assert_string_equal(buf, "aaa");
    assert_int_equal(cloud_value_copy(value, 4, buf, sizeof(buf)), -EBADMSG);
    assert_int_equal(cloud_value_copy(value, sizeof(value), buf, sizeof(buf)), -EBADMSG);
    assert_int_equal(cloud_value_copy("a\0b", 3, buf, sizeof(buf)), -EBADMSG);
    value[100] = '\0'; /* more than a zone has room for */
    assert_int_equal(cloud_answer_parse(&text, value, &facts), -EBADMSG);
    assert_string_equal(facts.zone, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_found),
        cmocka_unit_test(only_the_first_value_must_be_there),
        cmocka_unit_test(a_value_can_say_nothing),
        cmocka_unit_test(a_proof_must_be_right),
        cmocka_unit_test(wrong_answers_are_refused),
        cmocka_unit_test(long_values_are_refused_and_not_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
