/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "fake_root.h"
#include "front/spoor/outputs.h"
#include "output/format.h"
#include "unit_test.h"

struct fixture {
    struct fake_root fake;
    struct settings settings;
    struct outputs outputs;
    struct spoor_error err;
    char path[128];
};

static void begin(struct fixture *f, const char *name)
{
    fake_root_init(&f->fake);
    settings_init(&f->settings);
    f->settings.color = COLOR_NEVER;
    f->outputs = (struct outputs){ 0 };
    (void)snprintf(f->path, sizeof(f->path), "%s/%s", f->fake.path, name);
}

static void end(struct fixture *f)
{
    f->settings.report_path = NULL; /* not owned by the settings here */
    settings_done(&f->settings);
    outputs_done(&f->outputs);
    fake_root_done(&f->fake);
}

/* Sets one output file, or none if `path` is NULL. */
static void set_output(struct fixture *f, const char *path)
{
    text_list_done(&f->settings.outputs);
    if (path)
        assert_int_equal(text_list_add(&f->settings.outputs, path, NULL), 0);
}

static void set_stream(struct fixture *f, const char *path)
{
    f->settings.streams[0] = (struct spoor_stream){ .path = path };
    f->settings.stream_count = 1;
}

static int plan(struct fixture *f)
{
    return outputs_plan(&f->settings, &f->outputs, &f->err);
}

TEST(text_goes_to_stderr_unless_quiet)
{
    struct fixture f;

    begin(&f, "");
    assert_int_equal(plan(&f), 0);
    assert_int_equal(f.outputs.count, 1);
    assert_int_equal(f.outputs.items[0].fd, STDERR_FILENO);
    assert_int_equal(f.outputs.items[0].format, SPOOR_TEXT);
    f.settings.is_quiet = true;
    assert_int_equal(plan(&f), 0);
    assert_int_equal(f.outputs.count, 0);
    end(&f);
}

TEST(without_a_file_the_report_replaces_the_text)
{
    struct fixture f;

    begin(&f, "");
    f.settings.has_format = true;
    f.settings.format = SPOOR_JSON;
    assert_int_equal(plan(&f), 0);
    assert_int_equal(f.outputs.count, 1);
    assert_int_equal(f.outputs.items[0].format, SPOOR_JSON);
    end(&f);
}

TEST(the_file_name_selects_the_format)
{
    static const struct {
        const char *name;
        enum spoor_format format;
    } names[] = { { "a.json", SPOOR_JSON },
                  { "a.csv", SPOOR_CSV },
                  { "a", SPOOR_TEXT },
                  { "a.txt", SPOOR_TEXT },
                  { ".json", SPOOR_JSON } };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct fixture f;

        begin(&f, names[i].name);
        set_output(&f, f.path);
        assert_int_equal(plan(&f), 0);
        assert_int_equal(f.outputs.count, 2);
        assert_int_equal(f.outputs.items[0].format, names[i].format);
        assert_int_equal(f.outputs.items[0].fd, -1);
        assert_string_equal(f.outputs.items[0].path, f.path);
        assert_int_equal(f.outputs.items[1].format, SPOOR_TEXT);
        f.settings.has_format = true;
        f.settings.format = SPOOR_CSV;
        assert_int_equal(plan(&f), 0); /* the format of the config file */
        assert_int_equal(f.outputs.items[0].format,
                         strchr(names[i].name, '.') ? names[i].format : SPOOR_CSV);
        f.settings.is_format_option = true;
        assert_int_equal(plan(&f), 0);
        assert_int_equal(f.outputs.items[0].format, SPOOR_CSV);
        end(&f);
    }
}

TEST(the_summary_is_left_out_if_the_same_text_goes_to_stdout)
{
    char dash[] = "-";
    struct fixture f;

    begin(&f, "");
    set_output(&f, dash);
    assert_int_equal(plan(&f), 0);
    assert_int_equal(f.outputs.count, 1);
    assert_int_equal(f.outputs.items[0].fd, STDOUT_FILENO);
    f.settings.has_format = true;
    f.settings.format = SPOOR_JSON;
    assert_int_equal(plan(&f), 0);
    assert_int_equal(f.outputs.count, 2);
    end(&f);
}

TEST(an_unwritable_file_is_refused)
{
    static const struct {
        const char *name;
        int code;
    } names[] = { { "none/a.json", -ENOENT }, { "file/a.json", -ENOTDIR },
                  { "folder", -EISDIR },      { "folder/", -EISDIR },
                  { "link", -ELOOP },         { "a.xml", -EINVAL },
                  { "a.xml", -EINVAL },       { "socket", -EINVAL } };
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    struct fixture f;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    begin(&f, "");
    fake_root_write(&f.fake, "file", "x");
    fake_root_write(&f.fake, "folder/x", "x");
    fake_root_link(&f.fake, "link", "file");
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/socket", f.fake.path);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    close(fd);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        (void)snprintf(f.path, sizeof(f.path), "%s/%s", f.fake.path, names[i].name);
        set_output(&f, f.path);
        assert_int_equal(plan(&f), names[i].code);
        assert_non_null(strstr(f.err.message, f.path));
    }
    end(&f);
}

TEST(no_clobber_refuses_a_file_that_exists)
{
    struct fixture f;

    begin(&f, "file");
    fake_root_write(&f.fake, "file", "x");
    set_output(&f, f.path);
    assert_int_equal(plan(&f), 0);
    assert_int_equal(f.outputs.save, SPOOR_REPLACE);
    f.settings.is_no_clobber = true;
    assert_int_equal(plan(&f), -EEXIST);
    f.settings.is_no_clobber = false;
    f.settings.is_append = true;
    assert_int_equal(plan(&f), 0);
    assert_int_equal(f.outputs.save, SPOOR_APPEND);
    end(&f);
}

TEST(a_page_is_written_in_addition)
{
    struct fixture f;

    begin(&f, "page.html");
    f.settings.report_path = f.path;
    if (report_template_length == 0) {
        assert_int_equal(plan(&f), -ENOSYS);
        end(&f);
        return;
    }
    f.settings.is_append = true; /* append does not apply to pages */
    assert_int_equal(plan(&f), 0);
    assert_int_equal(f.outputs.count, 2);
    assert_int_equal(f.outputs.items[0].format, SPOOR_HTML);
    assert_int_equal(f.outputs.items[0].save, SPOOR_REPLACE);
    assert_int_equal(f.outputs.items[1].fd, STDERR_FILENO);
    assert_int_equal(f.outputs.items[1].format, SPOOR_TEXT);
    set_output(&f, f.path);
    assert_int_equal(plan(&f), -EINVAL); /* both paths are the same file */
    set_output(&f, NULL);
    f.settings.is_append = false;
    f.settings.is_no_clobber = true;
    fake_root_write(&f.fake, "page.html", "x");
    assert_int_equal(plan(&f), -EEXIST);
    end(&f);
}

TEST(a_device_is_written_and_never_replaced)
{
    char null[] = "/dev/null";
    struct fixture f;

    begin(&f, "");
    set_output(&f, null);
    assert_int_equal(plan(&f), 0);
    assert_true(f.outputs.items[0].fd >= 0 && f.outputs.items[0].owns_fd);
    end(&f);
    assert_int_equal(f.outputs.count, 0);
}

TEST(a_named_pipe_with_a_reader_is_opened_for_writing)
{
    struct fixture f;
    int reader;

    begin(&f, "pipe");
    assert_int_equal(mkfifo(f.path, 0600), 0);
    reader = open(f.path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    set_output(&f, f.path);
    assert_int_equal(plan(&f), 0);
    assert_int_equal(write(f.outputs.items[0].fd, "x", 1), 1);
    close(reader);
    end(&f);
}

TEST(a_descriptor_can_be_named_by_a_path)
{
    static const struct {
        const char *path;
        int fd;
    } names[] = {
        { "/dev/stdout", 1 }, { "/dev/stderr", 2 }, { "/dev/fd/2", 2 }, { "/proc/self/fd/1", 1 }
    };
    char path[32];

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct fixture f;

        begin(&f, "");
        (void)snprintf(path, sizeof(path), "%s", names[i].path);
        set_output(&f, path);
        assert_int_equal(plan(&f), 0);
        assert_int_equal(f.outputs.count, 1); /* the same text is not shown twice */
        assert_int_equal(f.outputs.items[0].fd, names[i].fd);
        end(&f);
    }
}

TEST(every_file_has_its_format)
{
    char second[160];
    struct fixture f;

    begin(&f, "a.json");
    set_output(&f, f.path);
    (void)snprintf(second, sizeof(second), "%s/b,c.csv", f.fake.path);
    assert_int_equal(text_list_add(&f.settings.outputs, second, NULL), 0);
    assert_int_equal(plan(&f), 0);
    assert_int_equal(f.outputs.count, 3);
    assert_int_equal(f.outputs.items[0].format, SPOOR_JSON);
    assert_int_equal(f.outputs.items[1].format, SPOOR_CSV);
    assert_int_equal(f.outputs.items[2].fd, STDERR_FILENO);
    assert_int_equal(text_list_add(&f.settings.outputs, f.path, NULL), 0);
    assert_int_equal(plan(&f), -EINVAL);
    assert_non_null(strstr(f.err.message, "are the same file"));
    end(&f);
}

TEST(samples_and_report_must_go_to_different_files)
{
    struct fixture f;

    begin(&f, "a.csv");
    set_output(&f, f.path);
    set_stream(&f, f.path);
    assert_int_equal(plan(&f), -EINVAL);
    assert_string_equal(f.err.message, "--output and --samples name the same file");
    end(&f);
}

TEST(a_closed_reader_ends_the_run_only_if_the_stream_is_the_only_output)
{
    struct fixture f;
    char stdout_path[] = "-", report[] = "r.json";

    begin(&f, "a.csv");
    assert_int_equal(outputs_reader_fd(&f.settings), -1);
    set_stream(&f, f.path);
    assert_int_equal(outputs_reader_fd(&f.settings), -1);
    set_stream(&f, stdout_path);
    assert_int_equal(outputs_reader_fd(&f.settings), 1);
    set_output(&f, report);
    assert_int_equal(outputs_reader_fd(&f.settings), -1);
    end(&f);
}

static void set_descriptor(struct fixture *f, int fd)
{
    char path[32];

    (void)snprintf(path, sizeof(path), "/dev/fd/%d", fd);
    set_output(f, path);
}

TEST(a_descriptor_must_be_open_for_writing)
{
    struct fixture f;
    int fd;

    begin(&f, "file");
    fake_root_write(&f.fake, "file", "x");
    set_descriptor(&f, 999);
    assert_int_equal(plan(&f), -EBADF);
    fd = open(f.path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(fcntl(fd, F_SETFD, 0), 0); /* inheritable, as from a shell */
    set_descriptor(&f, fd);
    assert_int_equal(plan(&f), -EBADF);
    close(fd);
    fd = open(f.path, O_RDWR | O_CLOEXEC);
    assert_int_equal(fcntl(fd, F_SETFD, 0), 0);
    set_descriptor(&f, fd);
    assert_int_equal(plan(&f), 0);
    assert_int_equal(f.outputs.count, 2);
    assert_int_equal(f.outputs.items[0].fd, fd);
    assert_int_equal(fcntl(fd, F_SETFD, FD_CLOEXEC), 0); /* opened by spoor, not inherited */
    assert_int_equal(plan(&f), -EBADF);
    close(fd);
    end(&f);
}

TEST(color_needs_a_terminal_that_supports_it)
{
    int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

    assert_false(outputs_has_color(COLOR_AUTO, fd));
    assert_true(outputs_has_color(COLOR_ALWAYS, fd));
    assert_false(outputs_has_color(COLOR_NEVER, fd));
    close(fd);
    fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 || !isatty(fd)) {
        print_message("no pseudo terminal here: %s\n", strerror(errno));
        skip();
    }
    unsetenv("NO_COLOR");
    setenv("TERM", "xterm", 1);
    assert_true(outputs_has_color(COLOR_AUTO, fd));
    setenv("NO_COLOR", "", 1);
    assert_true(outputs_has_color(COLOR_AUTO, fd));
    setenv("NO_COLOR", "1", 1);
    assert_false(outputs_has_color(COLOR_AUTO, fd));
    unsetenv("NO_COLOR");
    setenv("TERM", "dumb", 1);
    assert_false(outputs_has_color(COLOR_AUTO, fd));
    close(fd);
}
