/* SPDX-License-Identifier: Apache-2.0 */
#include "output/output_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/parse.h"

/* Copies the directory part of a path, or "." if it has none. */
static int directory_of(const char *path, char buf[PATH_MAX])
{
    const char *slash = strrchr(path, '/');
    size_t length = slash ? (size_t)(slash - path) : 1;

    if (length >= PATH_MAX)
        return -ENAMETOOLONG;
    if (slash == path)
        length = 1;
    memcpy(buf, slash ? path : ".", length);
    buf[length] = '\0';
    return 0;
}

/* ---- checks ------------------------------------------------------------- */

int output_file_check_directory(const char *path, struct spoor_error *err)
{
    char directory[PATH_MAX];
    struct stat status;

    if (directory_of(path, directory) < 0)
        return error_sys(err, ENAMETOOLONG, "cannot be created");
    if (stat(directory, &status) < 0) {
        if (errno == ENOENT)
            return error_set(err, ENOENT, "directory '%s' does not exist; create it first",
                             directory);
        return error_sys(err, errno, "directory '%s'", directory);
    }
    if (!S_ISDIR(status.st_mode))
        return error_set(err, ENOTDIR, "'%s' is not a directory", directory);
    if (faccessat(AT_FDCWD, directory, W_OK | X_OK, AT_EACCESS) < 0)
        return error_sys(err, errno, "cannot create files in directory '%s'", directory);
    return 0;
}

/* Applies the rule of fs.protected_symlinks, _fifos and _regular, which may be off: in a
 * directory where everyone may create files, only our own files and files of the directory's
 * owner are trusted. */
static bool is_trusted(const char *path, const struct stat *status)
{
    char directory[PATH_MAX];
    struct stat around;

    if (directory_of(path, directory) < 0 || stat(directory, &around) < 0)
        return false;
    return !(around.st_mode & S_ISVTX && around.st_mode & S_IWOTH) ||
           status->st_uid == geteuid() || status->st_uid == around.st_uid;
}

bool output_file_is_trusted(const char *path)
{
    struct stat status;

    return lstat(path, &status) < 0 || is_trusted(path, &status);
}

/* In a directory with the sticky bit only the owner may remove a file. */
static bool is_kept_by_sticky_bit(const char *path, const struct stat *file)
{
    char directory[PATH_MAX];
    struct stat status;
    uid_t user = geteuid();

    return user != 0 && file->st_uid != user && directory_of(path, directory) == 0 &&
           stat(directory, &status) == 0 && status.st_mode & S_ISVTX && status.st_uid != user;
}

static int check_existing(const char *path, enum output_mode mode, const struct stat *status,
                          struct spoor_error *err)
{
    if (S_ISLNK(status->st_mode))
        return error_set(err, ELOOP,
                         "is a symbolic link, which spoor does not follow; name its target "
                         "instead");
    if (S_ISDIR(status->st_mode))
        return error_set(err, EISDIR, "is a directory; name a file in it");
    if (mode == OUTPUT_NO_CLOBBER)
        return error_set(err, EEXIST, "already exists; name another file or omit --no-clobber");
    if (!S_ISREG(status->st_mode))
        return error_set(err, EINVAL, "is not a regular file");
    if (mode == OUTPUT_REPLACE) {
        if (is_kept_by_sticky_bit(path, status))
            return error_set(err, EPERM,
                             "belongs to another user in a directory where only its owner can "
                             "replace it; name another file");
        return output_file_check_directory(path, err);
    }
    if (!is_trusted(path, status))
        return error_set(err, EPERM,
                         "belongs to another user in a public directory; name another file");
    if (faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) < 0)
        return error_sys(err, errno, "cannot be written");
    return 0;
}

int output_file_check(const char *path, enum output_mode mode, struct spoor_error *err)
{
    size_t length = strlen(path);
    struct stat status;

    if (length > 0 && path[length - 1] == '/')
        return error_set(err, EISDIR, "is a directory; name a file in it");
    if (lstat(path, &status) == 0)
        return check_existing(path, mode, &status, err);
    if (errno == ENOENT || errno == ENOTDIR)
        return output_file_check_directory(path, err);
    return error_sys(err, errno, "cannot be written");
}

/* ---- directories ---------------------------------------------------------- */

int output_make_directories(char *path)
{
    int denied = 0; /* error of a parent that could not be created: it may exist */

    for (char *slash = strchr(path + 1, '/');; slash = strchr(slash + 1, '/')) {
        int r;

        if (slash)
            *slash = '\0';
        r = mkdir(path, 0700) < 0 && errno != EEXIST ? -errno : 0;
        if (r == -ENOENT && denied < 0)
            r = denied;
        if (slash)
            *slash = '/';
        if (!slash || (r < 0 && r != -EROFS && r != -EACCES))
            return r;
        if (r < 0)
            denied = r;
    }
}

/* ---- two names of one file ------------------------------------------------- */

static bool is_same_inode(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static int look_at(const char *path, int descriptor, struct stat *ret)
{
    return descriptor >= 0 ? fstat(descriptor, ret) : stat(path, ret);
}

bool output_file_is_same(const char *a, const char *b)
{
    const int fd_a = output_file_descriptor(a), fd_b = output_file_descriptor(b);
    char directory_a[PATH_MAX], directory_b[PATH_MAX];
    struct stat status_a, status_b;

    if (fd_a >= 0 && fd_b >= 0) /* with 2>&1, two descriptors are one file on purpose */
        return fd_a == fd_b;
    if (look_at(a, fd_a, &status_a) == 0 && look_at(b, fd_b, &status_b) == 0 &&
        S_ISREG(status_a.st_mode) && is_same_inode(&status_a, &status_b))
        return true;
    if (fd_a >= 0 || fd_b >= 0 || strcmp(basename(a), basename(b)) != 0)
        return false;
    return directory_of(a, directory_a) == 0 && directory_of(b, directory_b) == 0 &&
           stat(directory_a, &status_a) == 0 && stat(directory_b, &status_b) == 0 &&
           is_same_inode(&status_a, &status_b);
}

/* ---- descriptors, devices and pipes ----------------------------------------- */

int output_file_descriptor(const char *path)
{
    static const char *const directories[] = { "/dev/fd/", "/proc/self/fd/" };
    uint64_t fd;

    if (strcmp(path, "/dev/stdout") == 0)
        return STDOUT_FILENO;
    if (strcmp(path, "/dev/stderr") == 0)
        return STDERR_FILENO;
    for (size_t i = 0; i < ARRAY_SIZE(directories); i++) {
        size_t length = strlen(directories[i]);

        if (strncmp(path, directories[i], length) == 0 &&
            parse_whole_u64(path + length, &fd) == 0 && fd <= INT_MAX)
            return (int)fd;
    }
    return -1;
}

int output_file_check_descriptor(int fd, struct spoor_error *err)
{
    int flags = fcntl(fd, F_GETFD);
    int mode = fcntl(fd, F_GETFL);

    if (flags < 0 || flags & FD_CLOEXEC)
        return error_set(err, EBADF, "file descriptor %d is not open (try %d>FILE)", fd, fd);
    if ((mode & O_ACCMODE) == O_RDONLY)
        return error_set(err, EBADF, "file descriptor %d is not open for writing", fd);
    return 0;
}

bool output_file_is_special(const char *path)
{
    struct stat target;

    return stat(path, &target) == 0 && (S_ISCHR(target.st_mode) || S_ISFIFO(target.st_mode));
}

int output_file_check_special(const char *path, struct spoor_error *err)
{
    struct stat status;

    if (lstat(path, &status) < 0)
        return error_sys(err, errno, "cannot be written");
    if (!S_ISCHR(status.st_mode) && !is_trusted(path, &status))
        return error_set(err, EPERM,
                         "is a link or a pipe of another user in a public directory; name "
                         "another file");
    if (faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) < 0)
        return error_sys(err, errno, "cannot be written");
    return 0;
}

int output_file_open_special(const char *path, struct spoor_error *err)
{
    int r = output_file_check_special(path, err);
    int fd;

    if (r < 0)
        return r;
    fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    return fd < 0 ? error_sys(err, errno, "cannot be written") : fd;
}

/* ---- writing -------------------------------------------------------------- */

/* No file is that long: a lock on this byte does not conflict with a lock on the contents. */
#define LIFE_BYTE INT64_MAX

static int set_lock(int fd, short type)
{
    struct flock lock = { .l_type = type, .l_whence = SEEK_SET, .l_len = LIFE_BYTE };

    return fcntl(fd, F_OFD_SETLK, &lock) < 0 ? -errno : 0;
}

bool output_file_lock(int fd)
{
    enum { TRIES = 1000 };
    const struct timespec moment = { .tv_nsec = 5000000 };

    for (int i = 0; i < TRIES; i++) {
        int r = set_lock(fd, F_WRLCK);

        if (r != -EAGAIN && r != -EACCES && r != -EINTR)
            return r == 0;              /* false: the file system has no locks */
        (void)nanosleep(&moment, NULL); /* a signal may end the pause early */
    }
    return false;
}

void output_file_unlock(int fd)
{
    (void)set_lock(fd, F_UNLCK);
}

int output_file_claim(int fd, bool is_alone)
{
    struct flock lock = { .l_type = is_alone ? F_WRLCK : F_RDLCK,
                          .l_whence = SEEK_SET,
                          .l_start = LIFE_BYTE,
                          .l_len = 1 };

    if (fcntl(fd, F_OFD_SETLK, &lock) == 0 || (errno != EAGAIN && errno != EACCES))
        return 0; /* claimed, or the file system has no locks */
    return -EBUSY;
}

/* Gives a new file the mode of the file that it replaces and, if permitted, its owner. */
static void inherit(int fd, const struct stat *old)
{
    mode_t mode = old->st_mode & 0777;

    /* Group permissions are for the old group only. */
    if (fchown(fd, old->st_uid, old->st_gid) < 0 && fchown(fd, (uid_t)-1, old->st_gid) < 0)
        mode &= ~(mode_t)S_IRWXG;
    (void)fchmod(fd, mode); /* fails on a file system without modes */
}

/* Chooses a short name: the name of the file itself may already have the maximum length.
 * Process IDs repeat in containers that share a directory, times do not. */
static int name_temporary(struct replacement *replacement, unsigned attempt)
{
    char *buf = replacement->temporary;
    struct timespec now;
    int r = directory_of(replacement->path, buf);
    size_t length;
    int n;

    if (r < 0)
        return r;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    length = strlen(buf);
    n = snprintf(buf + length, PATH_MAX - length, "/.spoor-%d-%lx%08lx-%u.tmp", (int)getpid(),
                 (unsigned long)now.tv_sec, (unsigned long)now.tv_nsec, attempt);
    return n < 0 || (size_t)n >= PATH_MAX - length ? -ENAMETOOLONG : 0;
}

/* Returns whether a temporary file, named as above, was left by a process that has exited.
 * On a network file system that process may run on another machine, so the file must also be
 * an hour old. */
static bool is_abandoned(int directory, const char *name)
{
    static const char prefix[] = ".spoor-", suffix[] = ".tmp";
    enum { SECONDS = 3600 };
    const char *cursor = name + sizeof(prefix) - 1, *end = strrchr(name, '.');
    struct stat status;
    uint64_t pid;

    if (strncmp(name, prefix, sizeof(prefix) - 1) != 0 || strcmp(end, suffix) != 0 ||
        parse_u64(&cursor, &pid) < 0 || *cursor != '-' || pid == 0 || pid > INT32_MAX)
        return false;
    return kill((pid_t)pid, 0) < 0 && errno == ESRCH &&
           fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
           time(NULL) - status.st_mtime > SECONDS;
}

/* Removes the temporary files of processes that were killed while writing. Does not search all
 * of a huge directory, which would take too long. */
static void remove_abandoned(const char *path)
{
    enum { ENTRIES_MAX = 10000 };
    char directory[PATH_MAX];
    const struct dirent *entry;
    DIR *folder = directory_of(path, directory) < 0 ? NULL : opendir(directory);

    for (int i = 0; folder && i < ENTRIES_MAX && (entry = readdir(folder)); i++) {
        if (is_abandoned(dirfd(folder), entry->d_name))
            (void)unlinkat(dirfd(folder), entry->d_name, 0);
    }
    if (folder)
        (void)closedir(folder);
}

int replacement_open(struct replacement *replacement, const char *path, bool is_private)
{
    enum { ATTEMPTS = 100 };
    struct stat old;
    bool inherits =
        !is_private && lstat(path, &old) == 0 && S_ISREG(old.st_mode) && is_trusted(path, &old);
    /* More permissions are added later: another user could open the new file at once. */
    mode_t first_mode = is_private || inherits ? 0600 : 0666;

    replacement->path = path;
    remove_abandoned(path);
    for (unsigned attempt = 0; attempt < ATTEMPTS; attempt++) {
        int r = name_temporary(replacement, attempt);

        if (r < 0)
            return r;
        replacement->fd =
            open(replacement->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, first_mode);
        if (replacement->fd >= 0) {
            if (inherits)
                inherit(replacement->fd, &old);
            return 0;
        }
        if (errno != EEXIST)
            return -errno;
    }
    return -EEXIST;
}

/* Some file systems (NFS, some FUSE ones) cannot rename without replacing: an empty file of
 * that name is then created first, and replaced. */
static int rename_no_clobber(const char *from, const char *to)
{
    enum {
        NOREPLACE = 1
    }; /* RENAME_NOREPLACE of linux/fs.h; musl lacks both it and renameat2() */
    int fd;

    if (syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP && errno != EPERM)
        return -errno;
    fd = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    close(fd);
    if (rename(from, to) == 0)
        return 0;
    fd = -errno;
    (void)unlink(to);
    return fd;
}

int replacement_sync(const struct replacement *replacement)
{
    if (fsync(replacement->fd) == 0 || errno == EINVAL || errno == EROFS)
        return 0; /* done, or not supported by the file system */
    return -errno;
}

int replacement_commit(struct replacement *replacement, bool is_no_clobber)
{
    /* Some file systems (NFS, quotas) report a failed write only here. */
    int r = close(replacement->fd) < 0 ? -errno : 0;

    replacement->fd = -1;
    if (r == 0 && is_no_clobber)
        r = rename_no_clobber(replacement->temporary, replacement->path);
    else if (r == 0 && rename(replacement->temporary, replacement->path) < 0)
        r = -errno;
    if (r < 0)
        (void)unlink(replacement->temporary);
    return r;
}

void replacement_cancel(struct replacement *replacement)
{
    close(replacement->fd);
    replacement->fd = -1;
    (void)unlink(replacement->temporary);
}

int replacement_write(const char *path, const struct buffer *text,
                      struct replacement_style style)
{
    struct replacement file;
    int r = replacement_open(&file, path, style.is_private);

    if (r < 0)
        return r;
    r = buffer_write(text, file.fd);
    if (r == 0 && style.is_synced)
        r = replacement_sync(&file);
    if (r == 0)
        return replacement_commit(&file, style.is_no_clobber);
    replacement_cancel(&file);
    return r;
}
