/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_root.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit_test.h"

void fake_root_init(struct fake_root *fake)
{
    const char *folder = getenv("TMPDIR");

    (void)snprintf(fake->path, sizeof(fake->path), "%s/spoor-test-XXXXXX",
                   folder && strlen(folder) < 32 ? folder : "/tmp");
    assert_non_null(mkdtemp(fake->path));
    assert_int_equal(root_open(fake->path, &fake->root), 0);
}

static int remove_one(const char *path, UNUSED const struct stat *stat, UNUSED int type,
                      UNUSED struct FTW *ftw)
{
    return remove(path);
}

void fake_root_done(struct fake_root *fake)
{
    root_close(&fake->root);
    assert_int_equal(nftw(fake->path, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

int fake_root_set_up(void **state)
{
    static struct fake_root fake;

    fake_root_init(&fake);
    *state = &fake;
    return 0;
}

int fake_root_tear_down(void **state)
{
    fake_root_done(*state);
    return 0;
}

static void full_path(const struct fake_root *fake, const char *path, char full[PATH_MAX])
{
    assert_true(snprintf(full, PATH_MAX, "%s/%s", fake->path, path) < PATH_MAX);
    for (char *slash = strchr(full + strlen(fake->path) + 1, '/'); slash;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        assert_true(mkdir(full, 0755) == 0 || errno == EEXIST);
        *slash = '/';
    }
}

/* Opens without O_TRUNC, with which ext4 would flush the file to disk on close. */
void fake_root_write(struct fake_root *fake, const char *path, const char *text)
{
    ssize_t length = (ssize_t)strlen(text);
    char full[PATH_MAX];
    int fd;

    full_path(fake, path, full);
    fd = open(full, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, (size_t)length), length);
    assert_int_equal(ftruncate(fd, length), 0);
    assert_int_equal(close(fd), 0);
}

void fake_root_link(struct fake_root *fake, const char *path, const char *target)
{
    char full[PATH_MAX];

    full_path(fake, path, full);
    assert_int_equal(symlink(target, full), 0);
}
