/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "cgroup/cgroup.h"
#include "cgroup/cgroup_folder.h"
#include "fake_root.h"
#include "job/job_cgroup.h"
#include "job/source_names.h"
#include "unit_test.h"

TEST(disabled_sources_are_parsed_from_a_list)
{
    const char *unknown = NULL;
    unsigned disabled = 99;

    assert_int_equal(sources_parse(NULL, &disabled, &unknown), 0);
    assert_int_equal(disabled, 0);
    assert_int_equal(sources_parse("cgroup,perf", &disabled, &unknown), 0);
    assert_int_equal(disabled, SOURCE_CGROUP | SOURCE_PERF);
    assert_int_equal(sources_parse("smaps", &disabled, &unknown), 0);
    assert_int_equal(disabled, SOURCE_SMAPS);
    assert_int_equal(sources_parse("cgroup,cgro", &disabled, &unknown), -EINVAL);
    assert_string_equal(unknown, "cgro");
    assert_int_equal(sources_parse(",", &disabled, &unknown), -EINVAL);
}

TEST(cpu_stat_is_converted_from_microseconds)
{
    struct cgroup_cpu cpu = { .total_ns = 9 };

    assert_int_equal(cgroup_parse_cpu_stat("usage_usec 12\nuser_usec 8\nsystem_usec 4\n"
                                           "nice_usec 0\n",
                                           &cpu),
                     0);
    assert_int_equal(cpu.total_ns, 12000);
    assert_int_equal(cpu.user_ns, 8000);
    assert_int_equal(cpu.system_ns, 4000);
    assert_int_equal(cgroup_parse_cpu_stat("", &cpu), -EBADMSG);
    assert_int_equal(cgroup_parse_cpu_stat("usage_usec x\n", &cpu), -EBADMSG);
}

TEST(shared_memory_is_not_page_cache)
{
    struct cgroup_memory memory;

    assert_int_equal(cgroup_parse_memory_stat("anon 100\nfile 50\nkernel 3\nshmem 20\n"
                                              "file_dirty 7\nfile_writeback 2\n",
                                              &memory),
                     0);
    assert_int_equal(memory.dirty_bytes, 9);
    assert_int_equal(memory.anon_bytes, 100);
    assert_int_equal(memory.shmem_bytes, 20);
    assert_int_equal(memory.page_cache_bytes, 30);
    assert_int_equal(cgroup_parse_memory_stat("cache 1\nrss 1\ntotal_cache 70\ntotal_rss 200\n"
                                              "total_shmem 10\n",
                                              &memory),
                     0);
    assert_int_equal(memory.anon_bytes, 200);
    assert_int_equal(memory.shmem_bytes, 10);
    assert_int_equal(memory.page_cache_bytes, 60);
    assert_int_equal(cgroup_parse_memory_stat("", &memory), -EBADMSG);
}

TEST(refaults_are_converted_from_pages)
{
    static const struct {
        const char *text;
        uint64_t pages;
    } rows[] = {
        { "anon 1\nfile 5\nworkingset_refault_anon 3\nworkingset_refault_file 7\n", 7 },
        { "anon 1\nfile 5\nworkingset_refault 8\n", 8 }, /* before Linux 5.9 */
        { "anon 1\nfile 5\n", UNKNOWN },
        /* Version 1: values with the prefix "total_" include child cgroups. */
        { "workingset_refault_file 2\ntotal_cache 70\ntotal_rss 200\n"
          "total_workingset_refault_file 9\n",
          9 },
        { "workingset_refault_file 2\ntotal_cache 70\ntotal_rss 200\n", UNKNOWN },
    };
    struct cgroup_memory memory;

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        assert_int_equal(cgroup_parse_memory_stat(rows[i].text, &memory), 0);
        assert_int_equal(memory.refaulted_pages, rows[i].pages);
    }
}

TEST(io_is_summed_over_devices)
{
    struct cgroup_io io;

    assert_int_equal(cgroup_parse_io_stat("8:0 rbytes=10 wbytes=20 rios=1 wios=1\n"
                                          "8:16 rbytes=1 wbytes=2 rios=1 wios=1\n"
                                          "8:32 \n",
                                          &io),
                     0);
    assert_int_equal(io.read_bytes, 11);
    assert_int_equal(io.written_bytes, 22);
    assert_int_equal(cgroup_parse_io_stat("", &io), 0);
    assert_int_equal(io.read_bytes, 0);
    assert_int_equal(cgroup_parse_io_stat("x rbytes=1\n", &io), -EBADMSG);
}

#define AMD "drm/0000:03:00.0/"
#define XE "drm/0000:04:00.0/"

TEST(regions_of_a_gpu_are_summed)
{
    static const char text[] =
        AMD "vram 4096\n" XE "vram0 10\n" XE "vram1 20\n" XE "stolen 5\n";
    static const struct {
        const char *text, *pci_address;
        uint64_t bytes, largest_bytes;
    } rows[] = {
        { text, "0000:03:00.0", 4096, 4096 },
        { text, "0000:04:00.0", 30, 20 },
        { XE "vram0 90\n" XE "vram1 0\n", "0000:04:00.0", 90, 90 },
        { AMD "vram 7", "0000:03:00.0", 7, 7 }, /* truncated */
        { text, "0000:03:00.1", UNKNOWN, UNKNOWN },
        { text, "", UNKNOWN, UNKNOWN }, /* a part of a GPU has no PCI address */
        { "", "0000:03:00.0", UNKNOWN, UNKNOWN },
        { AMD "vram max\n", "0000:03:00.0", UNKNOWN, UNKNOWN },
        { AMD "vram0 1\n" AMD "vram1 max\n", "0000:03:00.0", UNKNOWN, UNKNOWN },
        { AMD "vram\n12\n", "0000:03:00.0", UNKNOWN, UNKNOWN },
        { AMD, "0000:03:00.0", UNKNOWN, UNKNOWN },
        { AMD "vram0 18446744073709551614\n" AMD "vram1 5\n", "0000:03:00.0", UNKNOWN,
          UNKNOWN },
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct cgroup_dmem dmem = cgroup_parse_dmem(rows[i].text, rows[i].pci_address);

        assert_true(dmem.bytes == rows[i].bytes);
        assert_true(dmem.largest_bytes == rows[i].largest_bytes);
    }
}

static const char *empty_environment(UNUSED const char *name)
{
    return NULL;
}

static const char *slurm_environment(const char *name)
{
    return strcmp(name, "SLURM_JOB_ID") == 0 ? "7" : NULL;
}

/* Starts a child that exits when the pipe is closed. */
static pid_t start_child(int *ret_end_fd)
{
    int fds[2];
    pid_t pid;

    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        char byte;

        close(fds[1]);
        _exit(read(fds[0], &byte, 1) == 0 ? 0 : 1);
    }
    close(fds[0]);
    *ret_end_fd = fds[1];
    return pid;
}

static void end_child(pid_t pid, int end_fd)
{
    int status;

    close(end_fd);
    assert_int_equal(waitpid(pid, &status, 0), pid);
}

TEST(a_job_cgroup_is_created_and_removed)
{
    struct job_cgroup_reading reading;
    struct cgroups cgroups;
    struct job_cgroup job_cgroup;
    struct root root;
    char text[64], own[CGROUP_PATH_SIZE + 2];
    bool has_cgroups;
    int end_fd;
    pid_t child = start_child(&end_fd);

    assert_int_equal(root_open("/", &root), 0);
    has_cgroups = cgroups_read(&root, getpid(), &cgroups) == 0;
    job_cgroup_open(&job_cgroup, &root, getpid(), child, has_cgroups ? &cgroups : NULL, NULL,
                    empty_environment);
    if (!job_cgroup_has(&job_cgroup, CGROUP_UNIFIED)) {
        print_message("no job cgroup can be made here: %s\n",
                      job_cgroup.reason ? job_cgroup.reason : "");
        job_cgroup_close(&job_cgroup);
        root_close(&root);
        end_child(child, end_fd);
        skip();
    }
    assert_true(job_cgroup_read_procs(&job_cgroup, text, sizeof(text)) > 0);
    assert_int_equal(strtol(text, NULL, 10), child);
    job_cgroup_read(&job_cgroup, &reading);
    assert_true(is_known(reading.cpu.total_ns));
    (void)snprintf(own, sizeof(own), "/%s", job_cgroup.folders[CGROUP_UNIFIED].own.path);
    /* The child is still alive, so it must be moved back to the parent cgroup. */
    job_cgroup_close(&job_cgroup);
    assert_int_equal(access(own, F_OK), -1);
    end_child(child, end_fd);
    root_close(&root);
}

/* A version 2 cgroup that the user passes with --cgroup. */
struct given {
    struct root root;
    struct cgroup above, cgroup;
    char path[CGROUP_PATH_SIZE + 1];
    char controller[256]; /* a controller enabled for children; "": none */
    unsigned enabled_above, enabled;
    struct job_cgroup job_cgroup; /* of `child`, below `cgroup` */
    pid_t child;
    int end_fd;
};

static bool given_make(struct given *given)
{
    struct cgroups cgroups;

    *given = (struct given){ 0 };
    assert_int_equal(root_open("/", &given->root), 0);
    if (cgroups_read(&given->root, getpid(), &cgroups) == 0) {
        given->above = given->cgroup = cgroups.of[CGROUP_UNIFIED];
        (void)snprintf(given->path, sizeof(given->path), "test-given-%d", (int)getpid());
        if (cgroup_is_visible(&given->cgroup) &&
            cgroup_to_child(&given->cgroup, given->path) == 0 &&
            cgroup_make(&given->root, &given->cgroup) == 0) {
            (void)snprintf(given->path, sizeof(given->path), "/%s", given->cgroup.path);
            return true;
        }
    }
    root_close(&given->root);
    return false;
}

static bool given_pass_on_a_controller(struct given *given)
{
    const char *const controllers[] = { given->controller, NULL };

    if (root_read(&given->root, given->controller, sizeof(given->controller),
                  "%s/cgroup.controllers", given->above.path) <= 0)
        return false;
    given->controller[strcspn(given->controller, " \n")] = '\0';
    given->enabled_above = cgroup_enable(&given->root, &given->above, controllers);
    given->enabled = cgroup_enable(&given->root, &given->cgroup, controllers);
    return given->enabled != 0;
}

static void given_track_child(struct given *given)
{
    given->child = start_child(&given->end_fd);
    job_cgroup_open(&given->job_cgroup, &given->root, getpid(), given->child, NULL, given->path,
                    empty_environment);
}

static void given_end_child(struct given *given)
{
    job_cgroup_close(&given->job_cgroup);
    end_child(given->child, given->end_fd);
}

static void given_remove(struct given *given)
{
    const char *const controllers[] = { given->controller, NULL };

    cgroup_disable(&given->root, &given->cgroup, controllers, given->enabled);
    assert_int_equal(cgroup_remove_tree(&given->root, &given->cgroup, &given->above), 0);
    cgroup_disable(&given->root, &given->above, controllers, given->enabled_above);
    root_close(&given->root);
}

static bool holds_child(const struct given *given, const struct cgroup *cgroup)
{
    return cgroup_holds_only(&given->root, cgroup, given->child);
}

/* Controllers enabled for the job must be disabled first: the kernel allows no process in a
 * cgroup that has controllers enabled for its children. */
TEST(a_remaining_process_is_moved_to_the_parent)
{
    struct given given;

    if (!given_make(&given))
        skip();
    given_track_child(&given);
    assert_true(holds_child(&given, &given.job_cgroup.folders[CGROUP_UNIFIED].own));
    job_cgroup_remove(&given.job_cgroup);
    assert_false(cgroup_is_visible(&given.job_cgroup.left_behind.cgroup));
    assert_true(holds_child(&given, &given.cgroup));
    given_end_child(&given);
    given_remove(&given);
}

/* A controller that another program enabled stays enabled, so the child cannot be moved to
 * the parent. */
TEST(errors_name_a_cgroup_that_cannot_be_removed)
{
    struct given given;

    if (!given_make(&given))
        skip();
    if (!given_pass_on_a_controller(&given)) {
        given_remove(&given);
        skip();
    }
    given_track_child(&given);
    job_cgroup_remove(&given.job_cgroup);
    assert_int_equal(given.job_cgroup.left_behind.error, -EBUSY);
    assert_true(holds_child(&given, &given.job_cgroup.left_behind.cgroup));
    given_end_child(&given);
    given_remove(&given);
}

TEST(a_slurm_step_gets_no_cgroup)
{
    struct job_cgroup job_cgroup;
    struct root root;

    assert_int_equal(root_open("/", &root), 0);
    job_cgroup_open(&job_cgroup, &root, getpid(), getpid(), NULL, NULL, slurm_environment);
    for (int i = 0; i < CGROUP_TREE_COUNT; i++)
        assert_false(job_cgroup_has(&job_cgroup, (enum cgroup_controller)i));
    assert_string_equal(job_cgroup.reason, "the cgroups of a Slurm step are managed by Slurm");
    job_cgroup_close(&job_cgroup);
    root_close(&root);
}

TEST(a_directory_that_is_not_a_cgroup_is_refused)
{
    struct job_cgroup_reading reading;
    struct job_cgroup job_cgroup;
    struct root root;

    assert_int_equal(root_open("/", &root), 0);
    job_cgroup_open(&job_cgroup, &root, getpid(), getpid(), NULL, "/tmp/", empty_environment);
    assert_string_equal(job_cgroup.reason, "not a cgroup directory");
    assert_false(job_cgroup_has_memory(&job_cgroup));
    job_cgroup_read(&job_cgroup, &reading);
    assert_false(is_known(reading.cpu.total_ns));
    assert_false(is_known(reading.memory_peak_bytes));
    job_cgroup_close(&job_cgroup);
    root_close(&root);
}

#define GIVEN "sys/fs/cgroup/given"

/* Without a graphics driver, dmem is not enabled, which saves a write. */
FAKE_ROOT_TEST(gpu_memory_is_enabled_if_there_may_be_a_gpu)
{
    struct fake_root *fake = *state;
    static const char *const last[] = { "+io", "+dmem" };
    struct job_cgroup job_cgroup;
    char text[64];

    fake->root.is_live = true;
    fake_root_write(fake, GIVEN "/cgroup.controllers", "memory pids io dmem\n");
    for (size_t i = 0; i < ARRAY_SIZE(last); i++) {
        /* In a plain file, each write overwrites the beginning of the previous one. */
        fake_root_write(fake, GIVEN "/cgroup.subtree_control", "");
        job_cgroup_open(&job_cgroup, &fake->root, getpid(), getpid(), NULL, "/" GIVEN,
                        empty_environment);
        assert_true(
            root_read(&fake->root, text, sizeof(text), GIVEN "/cgroup.subtree_control") > 0);
        assert_memory_equal(text, last[i], strlen(last[i]));
        job_cgroup_close(&job_cgroup);
        fake_root_write(fake, "sys/class/drm/version", "drm 1.1.0 20060810\n");
    }
}

/* In version 2, all files are in one folder; in version 1, dmem has its own hierarchy. A
 * cgroup that contains the tracker may count other jobs, too. */
FAKE_ROOT_TEST(gpu_memory_is_read_from_the_jobs_cgroup)
{
    struct fake_root *fake = *state;
    static const struct cgroup v2 = { .path = "unified/a", .is_v2 = true };
    static const struct cgroup v1 = { .path = "dmem/a" };
    struct cgroups cgroups = { .of = { [CGROUP_UNIFIED] = v2, [CGROUP_DMEM] = v2 } };
    struct job_cgroup job_cgroup;

    job_cgroup_adopt(&job_cgroup, &fake->root, &v2, &cgroups);
    assert_string_equal(job_cgroup_dmem_path(&job_cgroup), "unified/a");
    job_cgroup_close(&job_cgroup);
    cgroups.of[CGROUP_DMEM] = v1;
    job_cgroup_adopt(&job_cgroup, &fake->root, &v2, &cgroups);
    assert_string_equal(job_cgroup_dmem_path(&job_cgroup), "dmem/a");
    job_cgroup_surround(&job_cgroup, &cgroups);
    assert_null(job_cgroup_dmem_path(&job_cgroup));
    job_cgroup_close(&job_cgroup);
    assert_null(job_cgroup_dmem_path(&job_cgroup));
}
