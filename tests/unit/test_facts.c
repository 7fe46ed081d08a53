/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/amount.h"
#include "base/compiler.h"
#include "fake_root.h"
#include "source/host/facts.h"
#include "unit_test.h"

/* ---- facts ----------------------------------------------------------------- */

TEST(the_cpu_model_is_found_under_different_keys)
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

    for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
        assert_int_equal(cpuinfo_parse_model(good[i].text, model, sizeof(model)), 0);
        assert_string_equal(model, good[i].model);
    }
}

TEST(numbers_of_arm_cpus_have_names)
{
    char model[64] = "untouched";

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

TEST(a_missing_cpu_model_is_an_error)
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

    for (size_t i = 0; i < ARRAY_SIZE(none); i++)
        assert_int_equal(cpuinfo_parse_model(none[i], model, sizeof(model)), -ENOENT);
    assert_string_equal(model, "untouched");
}

TEST(long_names_are_truncated)
{
    char buf[8];

    assert_int_equal(cpuinfo_parse_model("model name : 0123456789\n", buf, sizeof(buf)), 0);
    assert_string_equal(buf, "0123456");
    assert_int_equal(os_release_parse_name("PRETTY_NAME=\"0123456789\"\n", buf, sizeof(buf)),
                     0);
    assert_string_equal(buf, "0123456");
}

TEST(quotes_are_removed_from_the_system_name)
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

    for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
        assert_int_equal(os_release_parse_name(good[i].text, name, sizeof(name)), 0);
        assert_string_equal(name, good[i].name);
    }
    assert_int_equal(os_release_parse_name("", name, sizeof(name)), -ENOENT);
    assert_int_equal(os_release_parse_name("PRETTY_NAME=\n", name, sizeof(name)), -ENOENT);
    assert_int_equal(os_release_parse_name("XPRETTY_NAME=a\n", name, sizeof(name)), -ENOENT);
}

FAKE_ROOT_TEST(all_facts_of_a_machine_are_read)
{
    struct fake_root *fake = *state;
    struct host_facts facts;

    fake_root_write(fake, "proc/sys/kernel/hostname", "node-7\n");
    fake_root_write(fake, "proc/sys/kernel/osrelease", "6.1.0-18-amd64\n");
    fake_root_write(fake, "usr/lib/os-release", "PRETTY_NAME=\"Debian\"\n");
    fake_root_write(fake, "proc/cpuinfo", "model name\t: A CPU\n");
    fake_root_write(fake, "proc/meminfo", "MemTotal: 1000 kB\n");
    fake_root_write(fake, "proc/stat",
                    "cpu 1 2 3 4\ncpu0 1 2 3 4\ncpu2 1 2 3 4\nintr 0\nprocesses 5\n");
    host_facts_read(&fake->root, &facts);
    assert_string_equal(facts.hostname, "node-7");
    assert_string_equal(facts.kernel, "6.1.0-18-amd64");
    assert_string_equal(facts.os, "Debian");
    assert_string_equal(facts.cpu_model, "A CPU");
    assert_int_equal(facts.cpus, 2);
    assert_int_equal(facts.memory_bytes, 1024000);
}

/* ARM boards have their model after the entries of all CPUs. */
FAKE_ROOT_TEST(a_model_after_many_cpus_is_found)
{
    struct fake_root *fake = *state;
    struct host_facts facts;
    char text[16 * 1024] = "";

    for (int i = 0; strlen(text) < sizeof(text) - 200; i++)
        (void)snprintf(text + strlen(text), 80, "processor\t: %d\nCPU part\t: 0x000\n\n", i);
    (void)snprintf(text + strlen(text), 80, "Model\t\t: A board\n");
    fake_root_write(fake, "proc/cpuinfo", text);
    host_facts_read(&fake->root, &facts);
    assert_string_equal(facts.cpu_model, "A board");
}

FAKE_ROOT_TEST(facts_without_files_are_unknown)
{
    struct fake_root *fake = *state;
    struct host_facts facts;

    memset(&facts, 'x', sizeof(facts));
    host_facts_read(&fake->root, &facts);
    assert_string_equal(facts.hostname, "");
    assert_string_equal(facts.kernel, "");
    assert_string_equal(facts.os, "");
    assert_string_equal(facts.cpu_model, "");
    assert_true(facts.cpus == UNKNOWN);
    assert_true(facts.memory_bytes == UNKNOWN);
}

/* ---- dmi ------------------------------------------------------------------- */

FAKE_ROOT_TEST(strings_are_printable_and_trimmed)
{
    struct fake_root *fake = *state;
    struct dmi dmi;

    memset(&dmi, 'x', sizeof(dmi));
    fake_root_write(fake, "sys/class/dmi/id/sys_vendor", "  Amazon EC2 \n");
    fake_root_write(fake, "sys/class/dmi/id/product_name", "a\033[31mb\x80\n");
    fake_root_write(fake, "sys/class/dmi/id/bios_version", "\n");
    fake_root_write(fake, "sys/hypervisor/uuid", "ec2f0000\n");
    dmi_read(&fake->root, &dmi);
    assert_string_equal(dmi.text[DMI_SYS_VENDOR], "Amazon EC2");
    assert_string_equal(dmi.text[DMI_PRODUCT_NAME], "a[31mb");
    assert_string_equal(dmi.text[DMI_BIOS_VERSION], "");
    assert_string_equal(dmi.text[DMI_CHASSIS_ASSET_TAG], "");
    assert_string_equal(dmi.text[DMI_HYPERVISOR_UUID], "ec2f0000");
}

FAKE_ROOT_TEST(long_strings_are_truncated)
{
    struct fake_root *fake = *state;
    struct dmi dmi;
    char text[1001];

    memset(text, 'a', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    fake_root_write(fake, "sys/class/dmi/id/sys_vendor", text);
    dmi_read(&fake->root, &dmi);
    assert_int_equal(strlen(dmi.text[DMI_SYS_VENDOR]), DMI_TEXT_SIZE - 1);
}

TEST(the_first_rule_with_all_conditions_met_is_used)
{
    static const struct dmi_rule rules[] = {
        { "both", { { DMI_SYS_VENDOR, "acme" }, { DMI_PRODUCT_NAME, "*cloud*" } } },
        { "one", { { DMI_SYS_VENDOR, "ACME" } } },
    };
    struct dmi dmi = { .text = {
                           [DMI_SYS_VENDOR] = "Acme", [DMI_PRODUCT_NAME] = "My Cloud 7" } };

    assert_string_equal(dmi_find(&dmi, rules, ARRAY_SIZE(rules)), "both");
    dmi.text[DMI_PRODUCT_NAME][0] = '\0';
    assert_string_equal(dmi_find(&dmi, rules, ARRAY_SIZE(rules)), "one");
    dmi.text[DMI_SYS_VENDOR][0] = '\0';
    assert_null(dmi_find(&dmi, rules, ARRAY_SIZE(rules)));
}

/* ---- topology -------------------------------------------------------------- */

#define CPU "sys/devices/system/cpu"

static void write_cpu(struct fake_root *fake, unsigned cpu, const char *file, const char *text)
{
    char path[128];

    snprintf(path, sizeof(path), CPU "/cpu%u/%s", cpu, file);
    fake_root_write(fake, path, text);
}

static void write_cache(struct fake_root *fake, unsigned cpu, unsigned index, const char *level,
                        const char *type, const char *size, const char *shared)
{
    const char *const files[][2] = {
        { "level", level }, { "type", type }, { "size", size }, { "shared_cpu_list", shared }
    };
    char file[64];

    for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
        snprintf(file, sizeof(file), "cache/index%u/%s", index, files[i][0]);
        write_cpu(fake, cpu, file, files[i][1]);
    }
}

/* Two sockets, each with two cores of two threads; CPU 3 is offline. */
FAKE_ROOT_TEST(shared_cores_and_sockets_are_counted_once)
{
    struct fake_root *fake = *state;
    static const unsigned online[] = { 0, 1, 2, 4, 5, 6, 7 };
    static const char *const cores[] = { "0,4", "1,5", "2,6", "", "0,4", "1,5", "2,6", "7" };
    static const char *const sockets[] = { "0-1,4-5", "2,6-7" };
    struct topology found;

    fake_root_write(fake, CPU "/online", "0-2,4-7\n");
    fake_root_write(fake, "sys/devices/system/node/online", "0-1\n");
    for (size_t i = 0; i < ARRAY_SIZE(online); i++) {
        unsigned cpu = online[i];
        const char *socket = sockets[(cpu & 3) >= 2];

        write_cpu(fake, cpu, "topology/core_cpus_list", cores[cpu]);
        write_cpu(fake, cpu, "topology/core_siblings_list", socket); /* the older name */
        write_cache(fake, cpu, 0, "3\n", "Unified\n", "32768K\n", socket);
        write_cache(fake, cpu, 1, "1\n", "Instruction\n", "32K\n", cores[cpu]);
        write_cache(fake, cpu, 2, "1\n", "Data\n", "48K\n", cores[cpu]);
    }
    topology_read(&fake->root, &found);
    assert_int_equal(found.threads, 7);
    assert_int_equal(found.cores, 4);
    assert_int_equal(found.sockets, 2);
    assert_int_equal(found.numa_nodes, 2);
    assert_int_equal(found.cache_count, 3);
    assert_int_equal(found.caches[0].level, 1);
    assert_int_equal(found.caches[0].type, 'd');
    assert_int_equal(found.caches[0].count, 4);
    assert_int_equal(found.caches[0].bytes, 4 * 48 << 10);
    assert_int_equal(found.caches[1].type, 'i');
    assert_int_equal(found.caches[2].level, 3);
    assert_int_equal(found.caches[2].type, 'u');
    assert_int_equal(found.caches[2].count, 2);
    assert_int_equal(found.caches[2].bytes, 64 << 20);
}

FAKE_ROOT_TEST(unreported_values_are_unknown)
{
    struct fake_root *fake = *state;
    struct topology found;

    topology_read(&fake->root, &found);
    assert_true(found.threads == UNKNOWN && found.cores == UNKNOWN && found.sockets == UNKNOWN);
    assert_true(found.numa_nodes == UNKNOWN);
    assert_int_equal(found.cache_count, 0);
    fake_root_write(fake, CPU "/online", "0-1\n");
    write_cpu(fake, 0, "topology/core_cpus_list", "0\n");
    write_cpu(fake, 0, "cache/index0/level", "1\n"); /* the other files are missing */
    topology_read(&fake->root, &found);
    assert_int_equal(found.threads, 2);
    assert_true(found.cores == UNKNOWN && found.sockets == UNKNOWN);
    assert_int_equal(found.cache_count, 0);
}

TEST(a_damaged_list_is_read_up_to_the_damage)
{
    static const struct {
        const char *text;
        uint64_t threads;
    } lists[] = { { "", UNKNOWN },   { "x", UNKNOWN },   { "0,x", 1 },
                  { "0-", UNKNOWN }, { "5-3", UNKNOWN }, { "0-99999999999", 8192 } };

    for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
        struct fake_root fake;
        struct topology found;

        fake_root_init(&fake);
        fake_root_write(&fake, CPU "/online", lists[i].text);
        topology_read(&fake.root, &found);
        assert_true(found.threads == lists[i].threads);
        fake_root_done(&fake);
    }
}

TEST(sizes_are_converted_from_their_units)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } good[] = {
        { "32K\n", 32 << 10 }, { "8M", 8 << 20 }, { "1G\n", 1 << 30 }, { "512\n", 512 }
    };
    static const char *const bad[] = { "", "K", "32X", "32KB", "-1K" };
    uint64_t bytes = 7;

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        assert_int_equal(cache_size_parse(bad[i], &bytes), -EBADMSG);
    assert_int_equal(bytes, 7);
    for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
        assert_int_equal(cache_size_parse(good[i].text, &bytes), 0);
        assert_int_equal(bytes, good[i].bytes);
    }
}

/* ---- virtualization -------------------------------------------------------- */

static const char *no_variable(UNUSED const char *name)
{
    return NULL;
}

static const char *in_a_pod(const char *name)
{
    return strcmp(name, "KUBERNETES_SERVICE_HOST") == 0 ? "10.0.0.1" : NULL;
}

TEST(containers_are_recognized_by_files_and_variables)
{
    static const struct {
        const char *path, *text, *name;
        environment_get *get_variable;
    } cases[] = {
        { "x", "", "none", no_variable },
        { ".dockerenv", "", "docker", no_variable },
        { ".dockerenv", "", "kubernetes", in_a_pod },
        { "run/.containerenv", "", "podman", no_variable },
        { "var/run/secrets/kubernetes.io/serviceaccount/token", "", "kubernetes", no_variable },
        { "run/systemd/container", "systemd-nspawn\n", "systemd-nspawn", no_variable },
        { "run/systemd/container", "\033[31m", "none", no_variable },
        { "proc/1/environ", "A=b", "none", no_variable },
        { "proc/1/environ", "container=lxc", "lxc", no_variable },
        { "proc/self/cgroup", "0::/\n", "none", no_variable },
        { "proc/self/cgroup", "4:memory:/docker/0123\n", "docker", no_variable },
        { "proc/self/cgroup", "0::/kubepods.slice/pod7\n", "kubernetes", no_variable },
        { "proc/self/cgroup", "0::/lxc.payload.box\n", "lxc", no_variable },
        { "proc/self/cgroup", "0::/machine.slice/libpod-1.scope\n", "podman", no_variable },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct fake_root fake;

        fake_root_init(&fake);
        fake_root_write(&fake, cases[i].path, cases[i].text);
        assert_string_equal(container_find(&fake.root, cases[i].get_variable).text,
                            cases[i].name);
        fake_root_done(&fake);
    }
}

FAKE_ROOT_TEST(firmware_names_the_hypervisor)
{
    struct fake_root *fake = *state;
    static const struct {
        const char *name;
        struct dmi dmi;
    } cases[] = {
        { "kvm", { { [DMI_SYS_VENDOR] = "Amazon EC2", [DMI_PRODUCT_NAME] = "m5.large" } } },
        { "none", { { [DMI_SYS_VENDOR] = "Amazon EC2", [DMI_PRODUCT_NAME] = "m5.metal" } } },
        { "none",
          { { [DMI_SYS_VENDOR] = "Amazon EC2", [DMI_PRODUCT_NAME] = "c7i.metal-24xl" } } },
        { "kvm", { { [DMI_SYS_VENDOR] = "QEMU" } } },
        { "vmware", { { [DMI_SYS_VENDOR] = "VMware, Inc." } } },
        { "hyper-v",
          { { [DMI_SYS_VENDOR] = "Microsoft Corporation",
              [DMI_PRODUCT_NAME] = "Virtual Machine" } } },
        { "xen", { { [DMI_SYS_VENDOR] = "Xen", [DMI_PRODUCT_NAME] = "HVM domU" } } },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_string_equal(hypervisor_find(&fake->root, &cases[i].dmi), cases[i].name);
}

TEST(a_hypervisor_is_found_without_firmware)
{
    static const struct dmi surface = {
        { [DMI_SYS_VENDOR] = "Microsoft Corporation", [DMI_PRODUCT_NAME] = "Surface Laptop" }
    };
    static const struct {
        const char *path, *text, *name;
    } cases[] = {
        { "x", "", NULL },
        { "sys/hypervisor/type", "xen\n", "xen" },
        { "proc/device-tree/hypervisor/compatible", "linux,kvm", "kvm" },
        { "proc/device-tree/hypervisor/compatible", "acme,hv", "other" },
        { "proc/device-tree/fw-cfg@9020000/reg", "", "kvm" },
        { "proc/cpuinfo", "processor : 0\nflags\t: fpu hypervisor lm\nbugs : x\n", "other" },
        { "proc/cpuinfo", "processor : 0\nflags\t: fpu lm\nbugs : hypervisor\n", "none" },
        { "proc/cpuinfo", "processor : 0\nFeatures\t: fp\n", NULL },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct fake_root fake;
        const char *name;

        fake_root_init(&fake);
        fake_root_write(&fake, cases[i].path, cases[i].text);
        name = hypervisor_find(&fake.root, &surface);
        assert_string_equal(name ? name : "unknown", cases[i].name ? cases[i].name : "unknown");
        fake_root_done(&fake);
    }
}
