/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/compiler.h"
#include "fake_root.h"
#include "output/output_file.h"
#include "unit_test.h"

struct fixture {
    struct fake_root fake;
    char path[128]; /* path of the file "f" */
};

static int set_up(void **state)
{
    static struct fixture fixture;

    fake_root_init(&fixture.fake);
    (void)snprintf(fixture.path, sizeof(fixture.path), "%s/f", fixture.fake.path);
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    fake_root_done(&((struct fixture *)*state)->fake);
    return 0;
}

/* Replaces the file's content. Returns 0 or -errno. */
static int replace(const char *path, const char *text, bool is_no_clobber)
{
    struct replacement new_file;
    int r = replacement_open(&new_file, path, false);

    if (r < 0)
        return r;
    assert_int_equal(write(new_file.fd, text, strlen(text)), strlen(text));
    return replacement_commit(&new_file, is_no_clobber);
}

static void check_text(const char *path, const char *expected)
{
    char text[64] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    assert_true(fd >= 0);
    assert_true(read(fd, text, sizeof(text) - 1) >= 0);
    close(fd);
    assert_string_equal(text, expected);
}

static void check_mode(const char *path, mode_t mode)
{
    struct stat status;

    assert_int_equal(lstat(path, &status), 0);
    assert_int_equal(status.st_mode & 07777, mode);
}

/* Checks the number of files in the folder. */
static void check_count(const struct fixture *f, int expected)
{
    DIR *folder = opendir(f->fake.path);
    int count = -2; /* . and .. */

    assert_non_null(folder);
    while (readdir(folder))
        count++;
    closedir(folder);
    assert_int_equal(count, expected);
}

TEST_WITH(a_file_is_replaced_as_a_whole_and_keeps_its_mode, set_up, tear_down)
{
    const struct fixture *f = *state;
    struct replacement abandoned;

    assert_int_equal(replace(f->path, "one", false), 0);
    check_text(f->path, "one");
    assert_int_equal(chmod(f->path, 0600), 0);
    assert_int_equal(replace(f->path, "two", false), 0);
    check_text(f->path, "two");
    check_mode(f->path, 0600);
    assert_int_equal(replacement_open(&abandoned, f->path, false), 0);
    check_count(f, 2);
    replacement_cancel(&abandoned);
    check_text(f->path, "two");
    check_count(f, 1);
}

static void add_old(const struct fixture *f, const char *name, time_t age_seconds)
{
    struct timespec times[2] = { { .tv_sec = time(NULL) - age_seconds }, { 0 } };
    char path[256];
    int fd;

    (void)snprintf(path, sizeof(path), "%s/%s", f->fake.path, name);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    times[1] = times[0];
    assert_int_equal(futimens(fd, times), 0);
    close(fd);
}

/* 5000000 is above all possible PIDs, so no such process exists. */
TEST_WITH(temporary_files_of_dead_processes_are_removed, set_up, tear_down)
{
    const struct fixture *f = *state;
    char own[64];

    (void)snprintf(own, sizeof(own), ".spoor-%d-6afb183a27506a30-0.tmp", (int)getpid());
    add_old(f, ".spoor-5000000-6afb183a27506a30-0.tmp", 7200);
    assert_int_equal(replace(f->path, "one", false), 0);
    check_count(f, 1);
    add_old(f, ".spoor-5000000-6afb183a27506a30-0.tmp", 60); /* perhaps from another machine */
    add_old(f, own, 7200);
    add_old(f, ".spoor-5000000-6afb183a27506a30-0.csv", 7200);
    add_old(f, ".spoor-x-0.tmp", 7200);
    add_old(f, "spoor-5000000-0.tmp", 7200);
    assert_int_equal(replace(f->path, "two", false), 0);
    check_count(f, 6);
}

TEST_WITH(no_clobber_creates_a_file_only_if_the_name_is_free, set_up, tear_down)
{
    const struct fixture *f = *state;

    assert_int_equal(replace(f->path, "one", true), 0);
    check_text(f->path, "one");
    assert_int_equal(replace(f->path, "two", true), -EEXIST);
    check_text(f->path, "one");
    check_count(f, 1);
}

/* Makes a system call fail in this process, as on a file system that does not support the
 * call. */
static void deny(long number, int code)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)code),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { ARRAY_SIZE(filter), filter };

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
        _exit(77);
}

/* vfat and some FUSE file systems do not support links; NFS cannot rename without replacing. */
TEST_WITH(no_clobber_needs_neither_links_nor_renameat2, set_up, tear_down)
{
    const struct fixture *f = *state;
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        deny(SYS_linkat, EPERM);
        deny(SYS_renameat2, EINVAL);
        if (replace(f->path, "one", true) != 0)
            _exit(1);
        _exit(replace(f->path, "two", true) == -EEXIST ? 0 : 2);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(status, 0);
    check_text(f->path, "one");
    check_count(f, 1);
}

/* The file must be created with its final mode: before a change of the mode, another user
 * could open it. */
static void exit_with_first_mode(const char *path, bool is_private)
{
    struct replacement new_file;
    struct stat status;

    (void)umask(0);
    deny(SYS_fchmod, EPERM);
    deny(SYS_fchown, EPERM);
    if (replacement_open(&new_file, path, is_private) < 0 || fstat(new_file.fd, &status) < 0)
        _exit(1);
    _exit((status.st_mode & 0777) == 0600 ? 0 : 2);
}

TEST_WITH(a_replaced_private_file_is_private_from_the_start, set_up, tear_down)
{
    const struct fixture *f = *state;
    mode_t old_umask = umask(0);

    for (int is_private = 0; is_private < 2; is_private++) {
        int status;
        pid_t pid;

        assert_int_equal(replace(f->path, "one", false), 0);
        check_mode(f->path, 0666);
        assert_int_equal(chmod(f->path, is_private ? 0666 : 0600), 0);
        pid = fork();
        if (pid == 0)
            exit_with_first_mode(f->path, is_private);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
            skip();
        assert_int_equal(status, 0);
        assert_int_equal(unlink(f->path), 0);
    }
    (void)umask(old_umask);
}

TEST_WITH(a_name_may_have_the_maximum_length, set_up, tear_down)
{
    struct fixture *f = *state;
    char path[400];
    int length = snprintf(path, sizeof(path), "%s/", f->fake.path);

    memset(path + length, 'n', 255);
    path[length + 255] = '\0';
    assert_int_equal(output_file_check(path, OUTPUT_REPLACE, NULL), 0);
    assert_int_equal(replace(path, "x", false), 0);
    check_text(path, "x");
    assert_int_equal(replace(path, "y", true), -EEXIST);
    path[length + 255] = 'n';
    path[length + 256] = '\0';
    assert_int_equal(output_file_check(path, OUTPUT_REPLACE, NULL), -ENAMETOOLONG);
}

TEST_WITH(an_unwritable_file_is_refused_and_unchanged, set_up, tear_down)
{
    struct fixture *f = *state;
    static const struct {
        const char *name;
        int code;
    } names[] = { { "none/f", -ENOENT }, { "file/f", -ENOTDIR }, { "folder", -EISDIR },
                  { "new/", -EISDIR },   { "link", -ELOOP },     { "pipe", -EINVAL },
                  { "new", 0 },          { "file", 0 } };
    char path[200];

    fake_root_write(&f->fake, "file", "old");
    fake_root_write(&f->fake, "folder/x", "x");
    fake_root_link(&f->fake, "link", "file");
    (void)snprintf(path, sizeof(path), "%s/pipe", f->fake.path);
    assert_int_equal(mkfifo(path, 0600), 0);
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", f->fake.path, names[i].name);
        for (int mode = OUTPUT_REPLACE; mode <= OUTPUT_APPEND; mode++)
            assert_int_equal(output_file_check(path, (enum output_mode)mode, NULL),
                             names[i].code);
    }
    check_text(path, "old");
    assert_int_equal(output_file_check(path, OUTPUT_NO_CLOBBER, NULL), -EEXIST);
    check_count(f, 4);
}

TEST(descriptors_can_be_named_by_a_path)
{
    static const struct {
        const char *path;
        int fd;
    } names[] = {
        { "/dev/stdout", 1 },   { "/dev/stderr", 2 },
        { "/dev/fd/63", 63 },   { "/proc/self/fd/7", 7 },
        { "/dev/fd/", -1 },     { "/dev/fd/x", -1 },
        { "/dev/fd/-1", -1 },   { "/dev/fd/99999999999", -1 },
        { "/dev/null", -1 },    { "stdout", -1 },
        { "/proc/1/fd/1", -1 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        assert_int_equal(output_file_descriptor(names[i].path), names[i].fd);
}

TEST(only_inherited_writable_descriptors_are_accepted)
{
    struct spoor_error err;
    int fds[2];

    assert_int_equal(pipe2(fds, 0), 0); /* inheritable, as from a shell */
    assert_int_equal(output_file_check_descriptor(fds[1], &err), 0);
    assert_int_equal(output_file_check_descriptor(fds[0], &err), -EBADF);
    assert_non_null(strstr(err.message, "is not open for writing"));
    assert_int_equal(fcntl(fds[1], F_SETFD, FD_CLOEXEC), 0);
    assert_int_equal(output_file_check_descriptor(fds[1], &err), -EBADF);
    close(fds[1]);
    assert_int_equal(output_file_check_descriptor(fds[1], &err), -EBADF);
    assert_non_null(strstr(err.message, "is not open (try "));
    close(fds[0]);
}

/* Each child seeks to the end of the file, then writes a byte there. */
TEST_WITH(a_lock_excludes_other_processes, set_up, tear_down)
{
    const struct fixture *f = *state;
    enum { CHILDREN = 8, ROUNDS = 20 };
    struct stat status;

    for (int child = 0; child < CHILDREN; child++) {
        if (fork() != 0)
            continue;
        for (int i = 0; i < ROUNDS; i++) {
            int fd = open(f->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
            off_t end;

            output_file_lock(fd);
            end = lseek(fd, 0, SEEK_END);
            if (pwrite(fd, "x", 1, end) != 1)
                _exit(1);
            output_file_unlock(fd);
            close(fd);
        }
        _exit(0);
    }
    for (int child = 0; child < CHILDREN; child++) {
        int end;

        assert_true(wait(&end) > 0);
        assert_int_equal(end, 0);
    }
    assert_int_equal(stat(f->path, &status), 0);
    assert_int_equal(status.st_size, CHILDREN * ROUNDS);
}

TEST_WITH(a_lock_does_not_conflict_with_flock, set_up, tear_down)
{
    const struct fixture *f = *state;
    int held = open(f->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    int fd = open(f->path, O_RDWR | O_CLOEXEC);
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

    assert_int_equal(flock(held, LOCK_EX), 0);
    output_file_lock(fd); /* must not wait */
    assert_int_equal(fcntl(held, F_OFD_SETLK, &lock), -1);
    output_file_unlock(fd);
    assert_int_equal(fcntl(held, F_OFD_SETLK, &lock), 0);
    close(fd);
    close(held);
}
