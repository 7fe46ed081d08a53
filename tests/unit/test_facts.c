/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "base/compiler.h"
#include "base/unknown.h"
#include "fake_root.h"
#include "source/host/facts.h"

static void the_model_stands_under_many_names(void **state)
{
    static const struct {
        const char *text;
        const char *model;
    } good[] = {
        { "processor\t: 0\nmodel\t\t: 143\nmodel name\t: Intel(R) Xeon(R)  \nflags\t: a\n",
          "Intel(R) Xeon(R)" },
        { "processor\t: 0\nBogoMIPS\t: 1\n\nModel\t\t: Raspberry Pi 4\n", "Raspberry Pi 4" },
        { "Processor\t: ARMv7 rev 4\nprocessor\t: 0\n", "ARMv7 rev 4" },
        { "processor\t: 0\ncpu\t\t: POWER9, altivec supported\n", "POWER9, altivec supported" },
        { "model name: a: b", "a: b" },
    };
    char model[128];

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
        assert_int_equal(cpuinfo_parse_model(good[i].text, model, sizeof(model)), 0);
        assert_string_equal(model, good[i].model);
    }
}

static void numbers_of_arm_have_names(void **state)
{
    char model[64] = "untouched";

    (void)state;
    assert_int_equal(cpuinfo_parse_model("processor\t: 0\nCPU implementer\t: 0x41\n"
                                         "CPU variant\t: 0x1\nCPU part\t: 0xd40\n",
                                         model, sizeof(model)),
                     0);
    assert_string_equal(model, "Neoverse-V1");
    assert_int_equal(cpuinfo_parse_model("CPU implementer\t: 0x41\nCPU part\t: 0xfff\n", model,
                                         sizeof(model)),
                     -ENOENT);
    assert_int_equal(cpuinfo_parse_model("CPU implementer\t: 0x41\n", model, sizeof(model)),
                     -ENOENT);
    assert_int_equal(
        cpuinfo_parse_model("CPU implementer\t:\nCPU part\t:\n", model, sizeof(model)),
        -ENOENT);
    assert_string_equal(model, "Neoverse-V1");
}

static void no_model_is_not_an_empty_one(void **state)
{
    static const char *const none[] = { "",
                                        "\n\n",
                                        "processor\t: 0\n",
                                        "model name\n",
                                        "model name\t:\n",
                                        "model name\t:   \n",
                                        "xmodel name: a\n",
                                        "model names: a\n" };
    char model[16] = "untouched";

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(none); i++)
        assert_int_equal(cpuinfo_parse_model(none[i], model, sizeof(model)), -ENOENT);
    assert_string_equal(model, "untouched");
}

static void long_names_are_cut(void **state)
{
    char buf[8];

    (void)state;
    assert_int_equal(cpuinfo_parse_model("model name : 0123456789\n", buf, sizeof(buf)), 0);
    assert_string_equal(buf, "0123456");
    assert_int_equal(os_release_parse_name("PRETTY_NAME=\"0123456789\"\n", buf, sizeof(buf)),
                     0);
    assert_string_equal(buf, "0123456");
}

static void the_name_of_the_system_is_unquoted(void **state)
{
    static const struct {
        const char *text;
        const char *name;
    } good[] = {
        { "NAME=x\nPRETTY_NAME=\"Debian GNU/Linux 12\"\nID=y\n", "Debian GNU/Linux 12" },
        { "PRETTY_NAME='a \"b\" \\$'\n", "a \"b\" \\$" },
        { "PRETTY_NAME=Alpine\n", "Alpine" },
        { "PRETTY_NAME=\"a \\\"b\\\" \\$ \\\\\"\n", "a \"b\" $ \\" },
        { "PRETTY_NAME=\"unended\nID=y\n", "unended" },
        { "PRETTY_NAME=\"unended\\", "unended\\" },
    };
    char name[64];

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
        assert_int_equal(os_release_parse_name(good[i].text, name, sizeof(name)), 0);
        assert_string_equal(name, good[i].name);
    }
    assert_int_equal(os_release_parse_name("", name, sizeof(name)), -ENOENT);
    assert_int_equal(os_release_parse_name("PRETTY_NAME=\n", name, sizeof(name)), -ENOENT);
    assert_int_equal(os_release_parse_name("XPRETTY_NAME=a\n", name, sizeof(name)), -ENOENT);
}

static void a_machine_has_facts(void **state)
{
    struct host_facts facts;
    struct fake_root fake;

    (void)state;
    fake_root_init(&fake);
    fake_root_write(&fake, "proc/sys/kernel/hostname", "node-7\n");
    fake_root_write(&fake, "proc/sys/kernel/osrelease", "6.1.0-18-amd64\n");
    fake_root_write(&fake, "usr/lib/os-release", "PRETTY_NAME=\"Debian\"\n");
    fake_root_write(&fake, "proc/cpuinfo", "model name\t: A CPU\n");
    fake_root_write(&fake, "proc/meminfo", "MemTotal: 1000 kB\n");
    fake_root_write(&fake, "proc/stat",
                    "cpu 1 2 3 4\ncpu0 1 2 3 4\ncpu2 1 2 3 4\nintr 0\nprocesses 5\n");
    host_facts_read(&fake.root, &facts);
    assert_string_equal(facts.hostname, "node-7");
    assert_string_equal(facts.kernel, "6.1.0-18-amd64");
    assert_string_equal(facts.os, "Debian");
    assert_string_equal(facts.cpu_model, "A CPU");
    assert_int_equal(facts.cpus, 2);
    assert_int_equal(facts.memory_bytes, 1024000);
    fake_root_done(&fake);
}

static void a_machine_that_tells_nothing_is_unknown(void **state)
{
    struct host_facts facts;
    struct fake_root fake;

    (void)state;
    memset(&facts, 'x', sizeof(facts));
    fake_root_init(&fake);
    host_facts_read(&fake.root, &facts);
    assert_string_equal(facts.hostname, "");
    assert_string_equal(facts.kernel, "");
    assert_string_equal(facts.os, "");
    assert_string_equal(facts.cpu_model, "");
    assert_true(facts.cpus == UNKNOWN);
    assert_true(facts.memory_bytes == UNKNOWN);
    fake_root_done(&fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_model_stands_under_many_names),
        cmocka_unit_test(numbers_of_arm_have_names),
        cmocka_unit_test(no_model_is_not_an_empty_one),
        cmocka_unit_test(long_names_are_cut),
        cmocka_unit_test(the_name_of_the_system_is_unquoted),
        cmocka_unit_test(a_machine_has_facts),
        cmocka_unit_test(a_machine_that_tells_nothing_is_unknown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
