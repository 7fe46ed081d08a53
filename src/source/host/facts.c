/* SPDX-License-Identifier: Apache-2.0 */
#include "source/host/facts.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/amount.h"
#include "base/cleanup.h"
#include "base/compiler.h"
#include "base/parse.h"
#include "source/host/host.h"
#include "source/host/meminfo.h"

/* ---- facts ----------------------------------------------------------------- */

/* Returns the value of the first line "key   : value", or NULL. */
static const char *cpuinfo_value(const char *text, const char *key)
{
    size_t length = strlen(key);

    for (; *text; text = parse_next_line(text)) {
        const char *colon = text + length;

        if (strncmp(text, key, length) != 0)
            continue;
        colon += strspn(colon, " \t");
        if (*colon == ':')
            return colon + 1;
    }
    return NULL;
}

/* 64-bit ARM reports only numbers. These are the names that Arm and the vendors gave to server
 * and cloud CPUs. */
static const struct {
    const char *implementer, *part, *name;
} arm_models[] = {
    { "0x41", "0xd07", "Cortex-A57" },  { "0x41", "0xd08", "Cortex-A72" },
    { "0x41", "0xd0b", "Cortex-A76" },  { "0x41", "0xd0c", "Neoverse-N1" },
    { "0x41", "0xd40", "Neoverse-V1" }, { "0x41", "0xd49", "Neoverse-N2" },
    { "0x41", "0xd4f", "Neoverse-V2" }, { "0x41", "0xd83", "Neoverse-V3AE" },
    { "0x41", "0xd84", "Neoverse-V3" }, { "0x41", "0xd8e", "Neoverse-N3" },
    { "0x43", "0x0af", "ThunderX2" },   { "0x46", "0x001", "A64FX" },
    { "0x48", "0xd01", "Kunpeng-920" }, { "0xc0", "0xac3", "AmpereOne" },
    { "0xc0", "0xac4", "AmpereOne" },
};

static int parse_arm_model(const char *text, char *buf, size_t size)
{
    const char *implementer = cpuinfo_value(text, "CPU implementer");
    const char *part = cpuinfo_value(text, "CPU part");

    for (size_t i = 0; implementer && part && i < ARRAY_SIZE(arm_models); i++) {
        char words[2][16];
        const char *cursors[2] = { implementer, part };

        if (parse_word(&cursors[0], words[0], sizeof(words[0])) < 0 ||
            parse_word(&cursors[1], words[1], sizeof(words[1])) < 0)
            break;
        if (strcmp(words[0], arm_models[i].implementer) == 0 &&
            strcmp(words[1], arm_models[i].part) == 0) {
            (void)snprintf(buf, size, "%s", arm_models[i].name); /* truncated to fit */
            return 0;
        }
    }
    return -ENOENT;
}

int cpuinfo_parse_model(const char *text, char *buf, size_t size)
{
    /* in this order: x86 and most others, ARM boards, old ARM, MIPS, POWER */
    static const char *const keys[] = { "model name", "Model", "Processor", "cpu model",
                                        "cpu" };

    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        const char *value = cpuinfo_value(text, keys[i]);
        const char *end = value ? value + strcspn(value, "\n") : NULL;

        if (!value || value + strspn(value, " \t") == end)
            continue;
        parse_copy_line(value, buf, size);
        return 0;
    }
    return parse_arm_model(text, buf, size);
}

/* Copies a value as a shell would read it: without quotes and, except in single quotes, without
 * backslashes. */
static void copy_unquoted(const char *value, char *buf, size_t size)
{
    char quote = *value == '"' || *value == '\'' ? *value : '\0';
    size_t used = 0;

    if (quote)
        value++;
    for (; *value && *value != '\n' && used + 1 < size; value++) {
        if (quote && *value == quote)
            break;
        if (*value == '\\' && quote != '\'' && value[1] && value[1] != '\n')
            value++;
        buf[used++] = *value;
    }
    buf[used] = '\0';
}

int os_release_parse_name(const char *text, char *buf, size_t size)
{
    const char *value = parse_key(text, "PRETTY_NAME");

    if (!value || *value == '\n' || *value == '\0')
        return -ENOENT;
    copy_unquoted(value, buf, size);
    return 0;
}

static void read_line(const struct root *root, const char *path, char *buf, size_t size)
{
    char text[512];

    if (root_read_start(root, text, sizeof(text), "%s", path) < 0)
        return;
    parse_copy_line(text, buf, size);
}

/* TEXT_SIZE is enough for the cpu lines of /proc/stat of 2000 CPUs. FIRST_CPU_SIZE, a page, is
 * what the kernel formats at once of /proc/cpuinfo. */
enum { TEXT_SIZE = 256 * 1024, FIRST_CPU_SIZE = 4096 };

/* The entry of the first CPU has its model, except on ARM boards: they have few CPUs, and the
 * model at the end. */
static void read_cpu_model(const struct root *root, char *text, struct host_facts *ret)
{
    ssize_t n = root_read_start(root, text, FIRST_CPU_SIZE, "proc/cpuinfo");

    if (n >= 0 && !cpuinfo_value(text, "model name"))
        n = root_read_start(root, text, TEXT_SIZE, "proc/cpuinfo");
    if (n >= 0)
        (void)cpuinfo_parse_model(text, ret->cpu_model, sizeof(ret->cpu_model));
}

static void read_names(const struct root *root, struct host_facts *ret)
{
    struct utsname names;

    if (root->is_live && uname(&names) == 0) {
        (void)snprintf(ret->hostname, sizeof(ret->hostname), "%s", names.nodename); /* fits */
        (void)snprintf(ret->kernel, sizeof(ret->kernel), "%s", names.release);
        return;
    }
    read_line(root, "proc/sys/kernel/hostname", ret->hostname, sizeof(ret->hostname));
    read_line(root, "proc/sys/kernel/osrelease", ret->kernel, sizeof(ret->kernel));
}

void host_facts_read(const struct root *root, struct host_facts *ret)
{
    AUTO_FREE char *text = malloc(TEXT_SIZE);
    struct cpu_stat stat;
    struct meminfo memory;

    *ret = (struct host_facts){ .cpus = UNKNOWN, .memory_bytes = UNKNOWN };
    read_names(root, ret);
    if (!text)
        return;
    /* Values that cannot be read or parsed stay unknown. */
    if (root_read_start(root, text, TEXT_SIZE, "etc/os-release") >= 0 ||
        root_read_start(root, text, TEXT_SIZE, "usr/lib/os-release") >= 0)
        (void)os_release_parse_name(text, ret->os, sizeof(ret->os));
    read_cpu_model(root, text, ret);
    if (root_read_start(root, text, TEXT_SIZE, "proc/meminfo") >= 0 &&
        meminfo_parse(text, &memory) == 0)
        ret->memory_bytes = memory.total_bytes;
    /* Only the number of CPUs is used here, so the ticks per second do not matter. */
    if (root_read_start(root, text, TEXT_SIZE, "proc/stat") >= 0 &&
        cpu_stat_parse(text, 1, &stat) == 0)
        ret->cpus = stat.cpus;
}

/* ---- dmi ------------------------------------------------------------------- */

static const char *const paths[DMI_FIELDS] = {
    [DMI_SYS_VENDOR] = "sys/class/dmi/id/sys_vendor",
    [DMI_PRODUCT_NAME] = "sys/class/dmi/id/product_name",
    [DMI_PRODUCT_UUID] = "sys/class/dmi/id/product_uuid",
    [DMI_BIOS_VENDOR] = "sys/class/dmi/id/bios_vendor",
    [DMI_BIOS_VERSION] = "sys/class/dmi/id/bios_version",
    [DMI_CHASSIS_ASSET_TAG] = "sys/class/dmi/id/chassis_asset_tag",
    [DMI_HYPERVISOR_UUID] = "sys/hypervisor/uuid",
};

/* Copies the first line, without leading and trailing blanks and unprintable characters. */
static void copy_printable(const char *text, char buf[DMI_TEXT_SIZE])
{
    size_t length = 0;

    text += strspn(text, " \t");
    for (; *text && *text != '\n' && length + 1 < DMI_TEXT_SIZE; text++) {
        if (*text >= ' ' && *text <= '~')
            buf[length++] = *text;
    }
    while (length > 0 && buf[length - 1] == ' ')
        length--;
    buf[length] = '\0';
}

void dmi_read(const struct root *root, struct dmi *ret)
{
    char text[256];

    for (size_t i = 0; i < DMI_FIELDS; i++) {
        ret->text[i][0] = '\0';
        if (root_read_start(root, text, sizeof(text), "%s", paths[i]) > 0)
            copy_printable(text, ret->text[i]);
    }
}

static bool matches(const struct dmi *dmi, const struct dmi_rule *rule)
{
    for (size_t i = 0; i < ARRAY_SIZE(rule->wanted); i++) {
        const char *pattern = rule->wanted[i].pattern;

        if (pattern && fnmatch(pattern, dmi->text[rule->wanted[i].field], FNM_CASEFOLD) != 0)
            return false;
    }
    return true;
}

const char *dmi_find(const struct dmi *dmi, const struct dmi_rule *rules, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (matches(dmi, &rules[i]))
            return rules[i].name;
    }
    return NULL;
}

/* ---- topology -------------------------------------------------------------- */

/* Sockets, cores and caches.
 *
 * For every CPU, files list the CPUs with which it shares a core, a socket or a cache, such
 * as "0,64". Each core, socket and cache is counted at the first CPU of its list. */

#define CPU_PATH "sys/devices/system/cpu"

enum { INDEXES_MAX = 16 };

int cache_size_parse(const char *text, uint64_t *ret)
{
    static const char units[] = "KMG";
    const char *cursor = text, *unit;
    uint64_t value;

    if (parse_u64(&cursor, &value) < 0)
        return -EBADMSG;
    unit = *cursor ? strchr(units, *cursor) : NULL;
    if (unit) {
        value = product_u64(value, 1ull << (10 * (unit - units + 1)));
        cursor++;
    }
    if (*cursor && !isspace((unsigned char)*cursor))
        return -EBADMSG;
    *ret = value;
    return 0;
}

/* Counts the CPUs or nodes in a file such as "0-3,8". */
static uint64_t count_list(const struct root *root, const char *path)
{
    char text[CPU_LIST_SIZE];
    int count = root_read(root, text, sizeof(text), "%s", path) > 0
                    ? parse_cpu_list(text, NULL, CPU_NUMBER_END)
                    : -ENOENT;

    return count > 0 ? (uint64_t)count : UNKNOWN;
}

/* Returns 1 if the CPU is the first of the list in a file, else 0. UNKNOWN: there is no such
 * list. */
static uint64_t is_first(const struct root *root, const char *path, uint64_t cpu)
{
    char text[64]; /* the start of the list is sufficient */
    const char *cursor = text;
    uint64_t first;

    return root_read_start(root, text, sizeof(text), "%s", path) > 0 &&
                   parse_u64(&cursor, &first) == 0
               ? first == cpu
               : UNKNOWN;
}

/* Whether a CPU is the first in one of its lists, read under its name since Linux 5.3 or under
 * its older name. */
static uint64_t leads(const struct root *root, uint64_t cpu, const char *name,
                      const char *old_name)
{
    const char *const names[] = { name, old_name };
    uint64_t answer = UNKNOWN;

    for (size_t i = 0; i < ARRAY_SIZE(names) && !is_known(answer); i++) {
        char path[128];

        (void)snprintf(path, sizeof(path), CPU_PATH "/cpu%llu/topology/%s",
                       (unsigned long long)cpu, names[i]); /* fits */
        answer = is_first(root, path, cpu);
    }
    return answer;
}

/* ---- caches --------------------------------------------------------------- */

static void add_cache(struct topology *topology, uint64_t level, char type, uint64_t bytes)
{
    size_t at = 0;

    while (at < topology->cache_count &&
           (topology->caches[at].level < level ||
            (topology->caches[at].level == level && topology->caches[at].type < type)))
        at++;
    if (at == topology->cache_count || topology->caches[at].level != level ||
        topology->caches[at].type != type) {
        if (topology->cache_count == TOPOLOGY_CACHES_MAX)
            return;
        memmove(&topology->caches[at + 1], &topology->caches[at],
                (topology->cache_count - at) * sizeof(topology->caches[0]));
        topology->caches[at] = (struct topology_cache){ .level = level, .type = type };
        topology->cache_count++;
    }
    topology->caches[at].count++;
    topology->caches[at].bytes = sum_u64(topology->caches[at].bytes, bytes);
}

static bool read_cache(const struct root *root, uint64_t cpu, unsigned index,
                       struct topology *topology)
{
    char folder[96], path[128], type[32], size[32];
    uint64_t level, bytes = UNKNOWN;

    (void)snprintf(folder, sizeof(folder), CPU_PATH "/cpu%llu/cache/index%u",
                   (unsigned long long)cpu, index); /* fits */
    level = root_read_number(root, "%s/level", folder);
    if (!is_known(level))
        return false;
    (void)snprintf(path, sizeof(path), "%s/shared_cpu_list", folder);
    if (is_first(root, path, cpu) != 1)
        return true;
    if (root_read(root, type, sizeof(type), "%s/type", folder) <= 0 ||
        !strchr("DIU", type[0])) /* Data, Instruction, Unified */
        return true;
    if (root_read(root, size, sizeof(size), "%s/size", folder) <= 0 ||
        cache_size_parse(size, &bytes) < 0)
        return true; /* caches of virtual machines may have no size */
    add_cache(topology, level, (char)tolower((unsigned char)type[0]), bytes);
    return true;
}

/* ---- all facts ------------------------------------------------------------- */

static void read_cpu(const struct root *root, uint64_t cpu, struct topology *topology)
{
    topology->threads++;
    topology->cores =
        sum_u64(topology->cores, leads(root, cpu, "core_cpus_list", "thread_siblings_list"));
    topology->sockets =
        sum_u64(topology->sockets, leads(root, cpu, "package_cpus_list", "core_siblings_list"));
    for (unsigned i = 0; i < INDEXES_MAX && read_cache(root, cpu, i, topology); i++)
        ;
}

void topology_read(const struct root *root, struct topology *ret)
{
    char text[CPU_LIST_SIZE];
    const char *cursor = text;

    *ret =
        (struct topology){ .numa_nodes = count_list(root, "sys/devices/system/node/online") };
    if (root_read(root, text, sizeof(text), CPU_PATH "/online") <= 0)
        text[0] = '\0';
    for (uint64_t first, last; parse_u64(&cursor, &first) == 0; cursor += *cursor == ',') {
        last = first;
        if (*cursor == '-') {
            cursor++;
            if (parse_u64(&cursor, &last) < 0)
                break;
        }
        for (uint64_t cpu = first; cpu <= last && cpu < CPU_NUMBER_END; cpu++)
            read_cpu(root, cpu, ret);
    }
    if (ret->threads == 0)
        ret->threads = ret->cores = ret->sockets = UNKNOWN;
}

/* ---- containers ----------------------------------------------------------- */

/* A Kubernetes pod is also a container of some runtime, so the name of the outer one comes
 * first. */
static const struct {
    const char *name;
    const char *variable; /* set in the environment if the container exists */
    const char *path;     /* this file exists if the container exists */
} container_signs[] = {
    { "kubernetes", "KUBERNETES_SERVICE_HOST", NULL },
    { "kubernetes", NULL, "var/run/secrets/kubernetes.io" },
    { "apptainer", "APPTAINER_CONTAINER", NULL },
    { "apptainer", "SINGULARITY_CONTAINER", NULL },
    { "podman", NULL, "run/.containerenv" },
    { "docker", NULL, ".dockerenv" },
};

/* Parts of the path of our cgroup, visible unless hidden by a cgroup namespace. */
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

/* Reads the name that the runtime passed to systemd or the first process: "container=lxc". */
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
    n = root_read_start(root, text, SIZE, "proc/1/environ"); /* readable by root */
    for (ssize_t at = 0; at < n; at += (ssize_t)strlen(text + at) + 1) {
        if (begins_with(text + at, key))
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

/* Device-tree values of ARM and POWER. */
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
    return root_exists(root, "proc/device-tree/fw-cfg@9020000") ? "kvm" : NULL; /* QEMU */
}

/* Looks for the flag that x86 CPUs of virtual machines have; NULL: there are no CPU flags. */
static const char *find_in_cpu_flags(const struct root *root)
{
    enum { SIZE = 16 << 10 }; /* covers the first CPU */
    AUTO_FREE char *text = malloc(SIZE);
    static const char flag[] = " hypervisor";
    const char *flags;

    if (!text || root_read_start(root, text, SIZE, "proc/cpuinfo") <= 0)
        return NULL;
    flags = cpuinfo_value(text, "flags");
    if (!flags)
        return NULL;
    return memmem(flags, strcspn(flags, "\n"), flag, strlen(flag)) ? "other" : "none";
}

const char *hypervisor_find(const struct root *root, const struct dmi *dmi)
{
    const char *name = dmi_find(dmi, hypervisor_rules, ARRAY_SIZE(hypervisor_rules));
    char text[64];

    if (name)
        return name;
    if (root_read_start(root, text, sizeof(text), "sys/hypervisor/type") > 0 &&
        begins_with(text, "xen"))
        return "xen";
    name = find_in_device_tree(root);
    return name ? name : find_in_cpu_flags(root);
}

/* ---- server ---------------------------------------------------------------- */

static void read_architecture(const struct root *root, char *buf, size_t size)
{
    struct utsname names;

    if (root->is_live && uname(&names) == 0)
        (void)snprintf(buf, size, "%s", names.machine); /* fits */
    else
        read_line(root, "proc/sys/kernel/arch", buf, size); /* since Linux 6.1 */
}

int server_facts_read(const struct root *root, environment_get *get_variable,
                      struct server_facts *ret)
{
    *ret = (struct server_facts){ 0 };
    read_architecture(root, ret->architecture, sizeof(ret->architecture));
    dmi_read(root, &ret->dmi);
    ret->container = container_find(root, get_variable);
    ret->hypervisor = hypervisor_find(root, &ret->dmi);
    topology_read(root, &ret->topology);
    return devices_read(root, NULL, &ret->devices);
}

void server_facts_done(struct server_facts *facts)
{
    devices_done(&facts->devices);
}
