/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <string.h>

#include "base/compiler.h"
#include "fake_root.h"
#include "source/host/virtualization.h"

static const char *no_variable(const char *name)
{
    (void)name;
    return NULL;
}

static const char *in_a_pod(const char *name)
{
    return strcmp(name, "KUBERNETES_SERVICE_HOST") == 0 ? "10.0.0.1" : NULL;
}

static void containers_are_known_by_what_they_leave(void **state)
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

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct fake_root fake;

        fake_root_init(&fake);
        fake_root_write(&fake, cases[i].path, cases[i].text);
        assert_string_equal(container_find(&fake.root, cases[i].get_variable).text,
                            cases[i].name);
        fake_root_done(&fake);
    }
}

static void firmware_names_the_hypervisor(void **state)
{
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
    struct fake_root fake;

    (void)state;
    fake_root_init(&fake);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_string_equal(hypervisor_find(&fake.root, &cases[i].dmi), cases[i].name);
    fake_root_done(&fake);
}

static void without_firmware_there_are_other_signs(void **state)
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

    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(containers_are_known_by_what_they_leave),
        cmocka_unit_test(firmware_names_the_hypervisor),
        cmocka_unit_test(without_firmware_there_are_other_signs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
