/* SPDX-License-Identifier: Apache-2.0 */
/* files.c - writes inputs to files, in a scratch folder below $TMPDIR. The process that creates
 * the folder removes it at exit; its children share it. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/root.h"
#include "fuzz.h"

static char scratch[256];
static pid_t owner;
static struct root tree = ROOT_CLOSED, empty = ROOT_CLOSED;

/* The files and links that fuzz_root() has created, oldest first; fuzz_root_clear() removes
 * them. */
static char *made[FUZZ_PARTS_MAX];
static size_t made_count;

static int remove_one(const char *path, UNUSED const struct stat *status, UNUSED int type,
                      UNUSED struct FTW *ftw)
{
    return remove(path);
}

static void remove_scratch(void)
{
    if (getpid() == owner)
        (void)nftw(scratch, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

const char *fuzz_scratch(void)
{
    const char *folder = getenv("TMPDIR");

    if (owner == 0) {
        owner = getpid();
        (void)snprintf(scratch, sizeof(scratch), "%s/spoor-fuzz-XXXXXX",
                       folder ? folder : "/tmp");
        CHECK(mkdtemp(scratch) != NULL);
        CHECK(atexit(remove_scratch) == 0);
    }
    return scratch;
}

static void write_all(int fd, const void *data, size_t length)
{
    CHECK(fd >= 0);
    CHECK(write(fd, data, length) == (ssize_t)length);
}

int fuzz_file(const void *data, size_t length)
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);

    write_all(fd, data, length);
    CHECK(lseek(fd, 0, SEEK_SET) == 0);
    return fd;
}

const char *fuzz_path(const char *name, const void *data, size_t length)
{
    static char path[PATH_MAX];
    int fd;

    (void)snprintf(path, sizeof(path), "%s/%s", fuzz_scratch(), name);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    write_all(fd, data, length);
    (void)close(fd);
    return path;
}

static void open_folder(const char *name, struct root *ret)
{
    char path[sizeof(scratch) + 32];

    if (ret->fd >= 0)
        return;
    (void)snprintf(path, sizeof(path), "%s/%s-%d", fuzz_scratch(), name, (int)getpid());
    CHECK(mkdir(path, 0700) == 0 || errno == EEXIST);
    CHECK(root_open(path, ret) == 0);
}

const struct root *fuzz_empty_root(void)
{
    open_folder("empty", &empty);
    return &empty;
}

/* Returns whether a path is relative and printable, without empty names and names that begin
 * with a dot. */
static bool is_inside(const char *path)
{
    for (const char *name = path;; name++) {
        size_t length = strcspn(name, "/");

        if (length == 0 || length > 128 || name[0] == '.')
            return false;
        for (size_t i = 0; i < length; i++)
            if (name[i] <= ' ' || name[i] > '~')
                return false;
        name += length;
        if (*name == '\0')
            return strlen(path) < 512;
    }
}

void fuzz_root_clear(void)
{
    while (made_count > 0) {
        char *name = made[--made_count];

        (void)unlinkat(tree.fd, name, 0);
        for (char *slash = strrchr(name, '/'); slash; slash = strrchr(name, '/')) {
            *slash = '\0';
            if (unlinkat(tree.fd, name, AT_REMOVEDIR) < 0)
                break;
        }
        free(name);
    }
}

/* Creates the parent folders of a path. Returns false if one of them is a file or a link. */
static bool make_folders(char *path)
{
    for (char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
        struct stat status;
        bool is_folder;

        *slash = '\0';
        is_folder = mkdirat(tree.fd, path, 0700) == 0 ||
                    (fstatat(tree.fd, path, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
                     S_ISDIR(status.st_mode));
        *slash = '/';
        if (!is_folder)
            return false;
    }
    return true;
}

static void make_file(const struct fuzz_part *part)
{
    char *name = strdup(part->name), *arrow = strstr(name, " > ");
    int fd;

    if (arrow)
        *arrow = '\0';
    if (!is_inside(name) || !make_folders(name)) {
        free(name);
        return;
    }
    made[made_count++] = name;
    if (arrow) {
        int r = symlinkat(arrow + 3, tree.fd, name);

        (void)r; /* the name may exist, or the target be too long */
        return;
    }
    fd = openat(tree.fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return;
    write_all(fd, part->text, part->length);
    (void)close(fd);
}

const struct root *fuzz_root(const struct fuzz_part *parts, size_t count)
{
    open_folder("tree", &tree);
    fuzz_root_clear();
    for (size_t i = 0; i < count; i++)
        if (*parts[i].name)
            make_file(&parts[i]);
    return &tree;
}
