/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "fake_manager.h"
#include "source/cgroup/dbus_message.h"
#include "source/cgroup/systemd_scope.h"

/* For those that answer: only a hung test waits so long. For those that do not. */
#define PATIENT_NS (20 * NS_PER_SECOND)
#define HASTY_NS (40 * NS_PER_MS)

static const pid_t pids[] = { 4711, 4712 };
static const struct systemd_scope scope = {
    .name = "spoor-1-cafe.scope", .description = "a job", .pids = pids, .pids_count = 2
};

static uint64_t deadline_in(uint64_t time_ns)
{
    return clock_now().monotonic_ns + time_ns;
}

/* Does all of it with a manager of that manner, each half within its own time. Says what failed
 * by its sign: connecting adds 1000 to the error. */
static int converse_within(struct fake_manager *fake, enum fake_manner manner, bool is_direct,
                           uint64_t connect_ns, uint64_t start_ns)
{
    struct systemd_connection connection = { .fd = -1 };
    int r;

    fake_manager_start(fake, manner, is_direct);
    r = systemd_connect(&fake->address, deadline_in(connect_ns), &connection);
    if (r < 0) {
        r -= 1000;
    } else {
        connection.deadline_ns = deadline_in(start_ns);
        r = systemd_start_scope(&connection, &scope);
    }
    systemd_disconnect(&connection);
    fake_manager_stop(fake);
    return r;
}

static int converse(struct fake_manager *fake, enum fake_manner manner, bool is_direct)
{
    return converse_within(fake, manner, is_direct, PATIENT_NS, PATIENT_NS);
}

static void a_bus_is_greeted_before_the_manager_is_asked(void **state)
{
    static const char *const members[] = { "Hello", "AddMatch", "Subscribe",
                                           "StartTransientUnit" };
    struct fake_manager fake;

    (void)state;
    assert_int_equal(converse(&fake, FAKE_WORKS, false), 0);
    assert_int_equal(fake.calls_count, ARRAY_SIZE(members));
    for (size_t i = 0; i < ARRAY_SIZE(members); i++)
        assert_string_equal(fake.members[i], members[i]);
}

static void the_managers_own_socket_needs_one_call(void **state)
{
    struct fake_manager fake;

    (void)state;
    assert_int_equal(converse(&fake, FAKE_WORKS, true), 0);
    assert_int_equal(fake.calls_count, 1);
    assert_string_equal(fake.members[0], "StartTransientUnit");
}

static void we_log_in_by_our_uid_in_hexadecimal_digits(void **state)
{
    char expected[64] = "AUTH EXTERNAL ", digits[16];
    struct fake_manager fake;

    (void)state;
    (void)snprintf(digits, sizeof(digits), "%u", (unsigned)geteuid());
    for (const char *digit = digits; *digit; digit++)
        (void)snprintf(expected + strlen(expected), 3, "3%c", *digit); /* '0' is 0x30 */
    assert_int_equal(converse(&fake, FAKE_WORKS, true), 0);
    assert_string_equal(fake.login, expected);
}

static void expect_text(struct dbus_reader *body, const char *expected)
{
    const char *text = NULL;

    assert_int_equal(dbus_get_string(body, &text), 0);
    assert_string_equal(text, expected);
}

static void expect_number(struct dbus_reader *body, uint32_t expected)
{
    uint32_t number = 0;

    assert_int_equal(dbus_get_u32(body, &number), 0);
    assert_int_equal(number, expected);
}

/* A property's name and the type of its value. */
static void expect_property(struct dbus_reader *body, const char *name, const char *type)
{
    const char *text = NULL;

    body->at = (body->at + 7) & ~(size_t)7;
    expect_text(body, name);
    assert_int_equal(dbus_get_signature(body, &text), 0);
    assert_string_equal(text, type);
}

static void the_request_names_the_scope_and_its_processes(void **state)
{
    struct fake_manager fake;
    struct dbus_message call;
    struct dbus_reader body;
    uint32_t length;

    (void)state;
    assert_int_equal(converse(&fake, FAKE_WORKS, false), 0);
    assert_int_equal(dbus_message_parse(fake.call, fake.call_length, &call), 0);
    assert_string_equal(call.path, "/org/freedesktop/systemd1");
    assert_string_equal(call.interface, "org.freedesktop.systemd1.Manager");
    assert_string_equal(call.signature, "ssa(sv)a(sa(sv))");
    body = (struct dbus_reader){ call.body, call.body_length, 0 };
    expect_text(&body, "spoor-1-cafe.scope");
    expect_text(&body, "fail");
    assert_int_equal(dbus_get_u32(&body, &length), 0); /* of all properties */
    expect_property(&body, "Description", "s");
    expect_text(&body, "a job");
    expect_property(&body, "DelegateControllers", "as");
    expect_number(&body, 11 + 1 + 9 + 3 + 7);
    expect_text(&body, "memory");
    expect_text(&body, "pids");
    expect_text(&body, "io");
    expect_property(&body, "CollectMode", "s");
    expect_text(&body, "inactive-or-failed");
    expect_property(&body, "PIDs", "au");
    expect_number(&body, 8);
    expect_number(&body, 4711);
    expect_number(&body, 4712);
    /* Then an array of nothing, behind the padding of its elements. */
    expect_number(&body, 0);
    assert_int_equal((body.at + 7) & ~(size_t)7, body.length);
}

static void other_messages_are_passed_over(void **state)
{
    struct fake_manager fake;

    (void)state;
    assert_int_equal(converse(&fake, FAKE_TALKS, false), 0);
    assert_int_equal(converse(&fake, FAKE_SIGNALS_FIRST, false), 0);
    assert_int_equal(converse(&fake, FAKE_TALKS, true), 0);
}

static void who_does_not_let_us_in_is_not_asked(void **state)
{
    static const struct {
        enum fake_manner manner;
        int result;
    } cases[] = {
        { FAKE_REJECTS, -EACCES },      { FAKE_BABBLES, -EBADMSG },
        { FAKE_BABBLES_ON, -EBADMSG },  { FAKE_HANGS_UP, -ECONNRESET },
        { FAKE_DENIES_HELLO, -EACCES },
    };
    struct fake_manager fake;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        int r = converse(&fake, cases[i].manner, false);

        if (cases[i].manner == FAKE_HANGS_UP && r == -1000 - EPIPE)
            r = -1000 - ECONNRESET; /* it was faster than our first word */
        assert_int_equal(r, cases[i].result - 1000);
        assert_int_equal(fake.call_length, 0);
    }
}

static void a_refusal_is_told_from_not_knowing(void **state)
{
    static const struct {
        enum fake_manner manner;
        int result;
    } cases[] = {
        { FAKE_DENIES, -EACCES },
        { FAKE_HAS_NO_SYSTEMD, -ENOENT },
        { FAKE_HAS_ERROR, -EREMOTEIO },
        { FAKE_FAILS, -ECANCELED },
        { FAKE_HANGS_UP_LATE, -EINPROGRESS },
        { FAKE_SENDS_RUBBISH, -EINPROGRESS },
    };
    struct fake_manager fake;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        for (int is_direct = 0; is_direct < 2; is_direct++)
            assert_int_equal(converse(&fake, cases[i].manner, is_direct), cases[i].result);
    }
}

static void nobody_makes_us_wait_beyond_the_deadline(void **state)
{
    static const struct {
        enum fake_manner manner;
        uint64_t connect_ns; /* a log-in that succeeds takes what time it needs */
        int result;
    } cases[] = {
        { FAKE_IS_MUTE, HASTY_NS, -ETIMEDOUT - 1000 },
        { FAKE_IS_MUTE_LATE, PATIENT_NS, -EINPROGRESS },
        { FAKE_FLOODS, PATIENT_NS, -EINPROGRESS },
    };
    struct fake_manager fake;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        uint64_t before_ns = clock_now().monotonic_ns;
        uint64_t spent_ns;

        assert_int_equal(
            converse_within(&fake, cases[i].manner, true, cases[i].connect_ns, HASTY_NS),
            cases[i].result);
        spent_ns = clock_now().monotonic_ns - before_ns;
        assert_true(spent_ns >= HASTY_NS);
        assert_true(spent_ns < PATIENT_NS / 4);
    }
}

static void a_socket_that_nobody_listens_on_is_no_manager(void **state)
{
    struct systemd_connection connection = { .fd = -5 };
    struct systemd_address address = { "/nonexistent/socket", true };
    struct fake_manager fake;

    (void)state;
    assert_int_equal(systemd_connect(&address, UINT64_MAX, &connection), -ENOENT);
    (void)snprintf(address.path, sizeof(address.path), "/dev/null");
    assert_int_equal(systemd_connect(&address, UINT64_MAX, &connection), -ECONNREFUSED);
    /* One that has been closed. */
    fake_manager_start(&fake, FAKE_WORKS, true);
    shutdown(fake.listen_fd, SHUT_RDWR);
    assert_int_equal(systemd_connect(&fake.address, UINT64_MAX, &connection), -ECONNREFUSED);
    fake_manager_stop(&fake);
    assert_int_equal(connection.fd, -5); /* untouched on failure */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bus_is_greeted_before_the_manager_is_asked),
        cmocka_unit_test(the_managers_own_socket_needs_one_call),
        cmocka_unit_test(we_log_in_by_our_uid_in_hexadecimal_digits),
        cmocka_unit_test(the_request_names_the_scope_and_its_processes),
        cmocka_unit_test(other_messages_are_passed_over),
        cmocka_unit_test(who_does_not_let_us_in_is_not_asked),
        cmocka_unit_test(a_refusal_is_told_from_not_knowing),
        cmocka_unit_test(nobody_makes_us_wait_beyond_the_deadline),
        cmocka_unit_test(a_socket_that_nobody_listens_on_is_no_manager),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
