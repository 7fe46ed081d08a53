/* SPDX-License-Identifier: Apache-2.0 */
/* command_agent.c - spoor agent: a tracker for the program that started it. */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "front/common/agent.h"
#include "front/common/command.h"
#include "front/common/gpus_check.h"
#include "front/common/session_options.h"

/* What fails is said in the result: nobody sees our stderr. */
static void write_files(spoor_session *session, void *data)
{
    const struct outputs *outputs = data;

    for (size_t i = 0; i < outputs->count; i++) {
        struct spoor_error err = { 0 };

        if (outputs_write_one(outputs, i, session, &err) < 0)
            spoor_session_warn(session, "output", err.message);
    }
}

/* Copies a file to its end, on one line: in JSON no line break is part of a text. */
static int copy_line(int fd, FILE *out)
{
    char text[4096];
    ssize_t n;

    while ((n = read(fd, text, sizeof(text))) > 0) {
        for (ssize_t i = 0; i < n; i++)
            fputc(text[i] == '\n' ? ' ' : text[i], out);
    }
    return n < 0 ? -errno : 0;
}

/* The report as a file in memory, at its beginning. */
static int open_report(spoor_session *session, enum spoor_format format, int *ret_fd,
                       struct spoor_error *err)
{
    AUTO_CLOSE int fd = memfd_create("report", MFD_CLOEXEC);
    int r;

    if (fd < 0)
        return error_sys(err, errno, "report");
    r = spoor_session_write(session, format, 0, fd, err);
    if (r < 0)
        return r;
    if (lseek(fd, 0, SEEK_SET) < 0)
        return error_sys(err, errno, "report");
    *ret_fd = take_fd(&fd);
    return 0;
}

static int write_report(spoor_session *session, void *data, FILE *out, struct spoor_error *err)
{
    AUTO_CLOSE int json_fd = -1;
    AUTO_CLOSE int text_fd = -1;
    char text[16 << 10];
    ssize_t n;
    int r = open_report(session, SPOOR_JSON, &json_fd, err);

    (void)data;
    if (r == 0)
        r = open_report(session, SPOOR_TEXT, &text_fd, err);
    if (r < 0)
        return r;
    fputs("\"report\":", out);
    r = copy_line(json_fd, out);
    if (r < 0)
        return error_sys(err, r, "report");
    n = read(text_fd, text, sizeof(text) - 1); /* a screen of text; more is cut */
    text[n > 0 ? n : 0] = '\0';
    fputs(",\"text\":", out);
    agent_put_text(out, text);
    return 0;
}

static int serve(struct cli_settings *settings)
{
    static const struct agent_kind kind = { write_files, write_report };
    CLEANUP(outputs_done) struct outputs outputs = { .device_fd = -1 };
    CLEANUP(attachment_close) struct attachment attachment = { .session = NULL };
    struct spoor_options options = session_options(settings);
    struct spoor_error err = { 0 };

    options.pid = settings->pid;
    settings->is_quiet = true;
    if (settings->pid == 0) {
        (void)error_set(&err, EINVAL, "no process given: spoor agent --pid PID");
        return agent_refuse(err.message);
    }
    if (gpus_check(settings, &err) < 0 || outputs_plan(settings, &outputs, &err) < 0 ||
        attachment_open(&options, &attachment, &err) < 0)
        return agent_refuse(err.message);
    agent_begin_ready();
    agent_end_ready();
    return agent_serve(&attachment, &kind, &outputs);
}

int command_agent(const struct command *command, int argc, char **argv)
{
    CLEANUP(settings_done) struct cli_settings settings;
    struct spoor_error err = { 0 };

    agent_begin();
    settings_init(&settings);
    if (settings_load(&settings, command->scope, argc, argv, &err) < 0)
        return agent_refuse(err.message);
    if (settings.action != CLI_WORK) {
        int operand;

        return command_begin(command, argc, argv, &settings, &operand);
    }
    return serve(&settings);
}
