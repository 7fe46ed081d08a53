/* SPDX-License-Identifier: Apache-2.0 */
#include "source/host/virtualization.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/compiler.h"
#include "base/parse.h"

/* ---- containers ----------------------------------------------------------- */

/* A pod of Kubernetes is a container of some runtime too: the outer one comes first. */
static const struct {
    const char *name;
    const char *variable; /* is set */
    const char *path;     /* exists */
} container_signs[] = {
    { "kubernetes", "KUBERNETES_SERVICE_HOST", NULL },
    { "kubernetes", NULL, "var/run/secrets/kubernetes.io" },
    { "apptainer", "APPTAINER_CONTAINER", NULL },
    { "apptainer", "SINGULARITY_CONTAINER", NULL },
    { "podman", NULL, "run/.containerenv" },
    { "docker", NULL, ".dockerenv" },
};

/* Parts of the path of our cgroup, seen if it is not hidden by a cgroup namespace. */
static const struct {
    const char *name, *part;
} cgroup_signs[] = {
    { "kubernetes", "/kubepods" },
    { "docker", "/docker" },
    { "podman", "/libpod" },
    { "lxc", "/lxc" },
    { "systemd-nspawn", "/machine.slice/systemd-nspawn" },
};

static struct container_name name_of(const char *text)
{
    struct container_name name = { "" };
    size_t length = 0;

    while (length + 1 < sizeof(name.text) &&
           (isalnum((unsigned char)text[length]) || text[length] == '-'))
        length++;
    memcpy(name.text, text, length);
    return name;
}

/* What the runtime told systemd, or the first process: "container=lxc". */
static struct container_name read_declared(const struct root *root)
{
    enum { SIZE = 64 << 10 };
    static const char key[] = "container=";
    AUTO_FREE char *text = malloc(SIZE);
    ssize_t n;

    if (!text)
        return name_of("");
    if (root_read_start(root, text, SIZE, "run/systemd/container") > 0)
        return name_of(text);
    n = root_read_start(root, text, SIZE, "proc/1/environ"); /* as root */
    for (ssize_t at = 0; at < n; at += (ssize_t)strlen(text + at) + 1) {
        if (strncmp(text + at, key, strlen(key)) == 0)
            return name_of(text + at + strlen(key));
    }
    return name_of("");
}

struct container_name container_find(const struct root *root, environment_get *get_variable)
{
    struct container_name declared;
    char text[8192];

    for (size_t i = 0; i < ARRAY_SIZE(container_signs); i++) {
        const char *variable = container_signs[i].variable, *path = container_signs[i].path;

        if ((variable && get_variable(variable)) || (path && root_exists(root, "%s", path)))
            return name_of(container_signs[i].name);
    }
    declared = read_declared(root);
    if (declared.text[0])
        return declared;
    if (root_read_start(root, text, sizeof(text), "proc/self/cgroup") > 0) {
        for (size_t i = 0; i < ARRAY_SIZE(cgroup_signs); i++) {
            if (strstr(text, cgroup_signs[i].part))
                return name_of(cgroup_signs[i].name);
        }
    }
    return name_of("none");
}

/* ---- virtual machines ----------------------------------------------------- */

static const struct dmi_rule hypervisor_rules[] = {
    { "none", { { DMI_SYS_VENDOR, "Amazon EC2" }, { DMI_PRODUCT_NAME, "*.metal*" } } },
    { "kvm", { { DMI_SYS_VENDOR, "Amazon EC2" } } },
    { "kvm", { { DMI_PRODUCT_NAME, "Google Compute Engine" } } },
    { "kvm", { { DMI_PRODUCT_NAME, "KVM*" } } },
    { "kvm", { { DMI_PRODUCT_NAME, "Alibaba Cloud ECS" } } },
    { "kvm", { { DMI_PRODUCT_NAME, "OpenStack*" } } },
    { "kvm", { { DMI_SYS_VENDOR, "Hetzner" }, { DMI_PRODUCT_NAME, "vServer" } } },
    { "kvm", { { DMI_SYS_VENDOR, "UpCloud" } } },
    { "kvm", { { DMI_BIOS_VENDOR, "SeaBIOS" } } },
    { "kvm", { { DMI_SYS_VENDOR, "QEMU" } } },
    { "vmware", { { DMI_SYS_VENDOR, "VMware*" } } },
    { "virtualbox", { { DMI_PRODUCT_NAME, "VirtualBox" } } },
    { "hyper-v",
      { { DMI_SYS_VENDOR, "Microsoft Corporation" },
        { DMI_PRODUCT_NAME, "Virtual Machine" } } },
    { "xen", { { DMI_SYS_VENDOR, "Xen" } } },
    { "parallels", { { DMI_SYS_VENDOR, "Parallels*" } } },
    { "bhyve", { { DMI_PRODUCT_NAME, "BHYVE" } } },
    { "apple", { { DMI_PRODUCT_NAME, "Apple Virtualization*" } } },
};

/* Of ARM and POWER. */
static const struct {
    const char *name, *compatible;
} device_tree_signs[] = {
    { "kvm", "linux,kvm" },
    { "xen", "xen" },
    { "vmware", "vmware" },
};

static const char *find_in_device_tree(const struct root *root)
{
    char text[128];

    if (root_read_start(root, text, sizeof(text), "proc/device-tree/hypervisor/compatible") >
        0) {
        for (size_t i = 0; i < ARRAY_SIZE(device_tree_signs); i++) {
            if (strncmp(text, device_tree_signs[i].compatible,
                        strlen(device_tree_signs[i].compatible)) == 0)
                return device_tree_signs[i].name;
        }
        return "other";
    }
    return root_exists(root, "proc/device-tree/fw-cfg@9020000") ? "kvm" : NULL; /* of QEMU */
}

/* x86 has a flag for it; NULL: there are no such flags. */
static const char *find_in_cpu_flags(const struct root *root)
{
    enum { SIZE = 16 << 10 }; /* the first CPU */
    AUTO_FREE char *text = malloc(SIZE);
    const char *flags = NULL;

    if (!text || root_read_start(root, text, SIZE, "proc/cpuinfo") <= 0)
        return NULL;
    for (char *line = text; *line && !flags; line = text + (parse_next_line(line) - text)) {
        if (strncmp(line, "flags", strlen("flags")) == 0) {
            line[strcspn(line, "\n")] = '\0';
            flags = line;
        }
    }
    if (!flags)
        return NULL;
    return strstr(flags, " hypervisor") ? "other" : "none";
}

const char *hypervisor_find(const struct root *root, const struct dmi *dmi)
{
    const char *name = dmi_find(dmi, hypervisor_rules, ARRAY_SIZE(hypervisor_rules));
    char text[64];

    if (name)
        return name;
    if (root_read_start(root, text, sizeof(text), "sys/hypervisor/type") > 0 &&
        strncmp(text, "xen", 3) == 0)
        return "xen";
    name = find_in_device_tree(root);
    return name ? name : find_in_cpu_flags(root);
}
