/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_drm.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "unit_test.h"

void fake_drm_node(struct fake_root *fake, const char *node, const char *pci)
{
    char path[128], target[128];

    (void)snprintf(path, sizeof(path), "sys/class/drm/%s/device", node);
    (void)snprintf(target, sizeof(target), "../../../devices/%s", pci);
    fake_root_link(fake, path, target);
}

void fake_drm_card(struct fake_root *fake, unsigned card, const char *pci,
                   const char *vendor_id)
{
    char path[128], node[32];

    (void)snprintf(path, sizeof(path), "sys/devices/%s/vendor", pci);
    fake_root_write(fake, path, vendor_id);
    (void)snprintf(node, sizeof(node), "card%u", card);
    fake_drm_node(fake, node, pci);
    (void)snprintf(path, sizeof(path), "sys/class/drm/card%u-DP-1/status", card);
    fake_root_write(fake, path, "connected\n"); /* a connector, not a graphics card */
}

void fake_drm_file(struct fake_root *fake, unsigned card, const char *path, const char *text)
{
    char full[128];

    (void)snprintf(full, sizeof(full), "sys/class/drm/card%u/%s", card, path);
    fake_root_write(fake, full, text);
}

void fake_drm_remove(struct fake_root *fake, const char *path)
{
    assert_int_equal(unlinkat(fake->root.fd, path, 0), 0);
}

static void fd_path(char path[128], int pid, const char *folder, int fd)
{
    assert_true(snprintf(path, 128, "proc/%d/%s/%d", pid, folder, fd) < 128);
}

void fake_drm_fd(struct fake_root *fake, int pid, int fd, const char *target, const char *text)
{
    char path[128];

    fd_path(path, pid, "fd", fd);
    assert_true(unlinkat(fake->root.fd, path, 0) == 0 || errno == ENOENT);
    fake_root_link(fake, path, target);
    fd_path(path, pid, "fdinfo", fd);
    if (text)
        fake_root_write(fake, path, text);
}

void fake_drm_close(struct fake_root *fake, int pid, int fd)
{
    char path[128];

    fd_path(path, pid, "fd", fd);
    fake_drm_remove(fake, path);
    fd_path(path, pid, "fdinfo", fd);
    fake_drm_remove(fake, path);
}

struct gpu_process fake_drm_process(const struct gpu_vendor *vendor, void *state,
                                    const struct gpu_pids *pids, int pid, unsigned device)
{
    struct gpu_process list[32], found = { 0 };
    ssize_t n = vendor->processes(state, pids, list, 32);
    int count = 0;

    assert_in_range(n, 0, 32);
    for (ssize_t i = 0; i < n; i++) {
        if (list[i].pid == pid && list[i].device == device) {
            found = list[i];
            count++;
        }
    }
    assert_int_equal(count, 1);
    return found;
}
