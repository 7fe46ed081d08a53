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
#include <sys/stat.h>
#include <unistd.h>

#include "fake_root.h"
#include "services/cloud/cache.h"

#define FILE_PATH "home/.cache/spoor/cloud.json"

static const struct cloud_cache_key key = { "aws", "http://169.254.169.254" };
static const struct cloud_facts facts = { .vendor = "aws",
                                          .region = "us-west-2",
                                          .instance_type = "m5.large" };

static struct fake_root fake;
static char home[128], cache_home[128];

static const char *find_variable(const char *name)
{
    const char *value = strcmp(name, "HOME") == 0             ? home
                        : strcmp(name, "XDG_CACHE_HOME") == 0 ? cache_home
                                                              : "";

    return *value ? value : NULL;
}

static void boot(const char *id)
{
    fake_root_write(&fake, "proc/sys/kernel/random/boot_id", id);
}

static int begin(void **state)
{
    (void)state;
    fake_root_init(&fake);
    fake_root_write(&fake, "home/x", "");
    boot("0f7d7d4e-5b1c-4b8e-9c1f-5b2f1a3b4c5d\n");
    snprintf(home, sizeof(home), "%s/home", fake.path);
    cache_home[0] = '\0';
    return 0;
}

static int end(void **state)
{
    (void)state;
    fake_root_done(&fake);
    return 0;
}

static int read_again(struct cloud_facts *ret)
{
    return cloud_cache_read(&fake.root, find_variable, &key, ret);
}

static void facts_are_kept_for_the_user_only(void **state)
{
    struct cloud_facts found;
    struct stat status;
    char path[256];

    (void)state;
    assert_int_equal(read_again(&found), -ENOENT);
    cloud_cache_write(&fake.root, find_variable, &key, &facts);
    assert_int_equal(read_again(&found), 0);
    assert_memory_equal(&found, &facts, sizeof(facts));
    snprintf(path, sizeof(path), "%s/%s", fake.path, FILE_PATH);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    cloud_cache_write(&fake.root, find_variable, &key, &facts); /* replaces it */
    assert_int_equal(read_again(&found), 0);
}

static void a_reboot_ends_it(void **state)
{
    struct cloud_facts found;

    (void)state;
    cloud_cache_write(&fake.root, find_variable, &key, &facts);
    boot("11111111-5b1c-4b8e-9c1f-5b2f1a3b4c5d\n");
    assert_int_equal(read_again(&found), -ENOENT);
    cloud_cache_write(&fake.root, find_variable, &key, &facts);
    assert_int_equal(read_again(&found), 0);
}

static void it_is_of_one_service(void **state)
{
    const struct cloud_cache_key others[] = { { "gcp", key.url },
                                              { "aws", "http://127.0.0.1:1" } };
    struct cloud_facts found;

    (void)state;
    cloud_cache_write(&fake.root, find_variable, &key, &facts);
    assert_int_equal(cloud_cache_read(&fake.root, find_variable, &others[0], &found), -ENOENT);
    assert_int_equal(cloud_cache_read(&fake.root, find_variable, &others[1], &found), -ENOENT);
}

static void the_folder_for_caches_can_be_chosen(void **state)
{
    struct cloud_facts found;

    (void)state;
    fake_root_write(&fake, "elsewhere/x", "");
    snprintf(cache_home, sizeof(cache_home), "%s/elsewhere", fake.path);
    cloud_cache_write(&fake.root, find_variable, &key, &facts);
    assert_true(root_exists(&fake.root, "elsewhere/spoor/cloud.json"));
    assert_false(root_exists(&fake.root, FILE_PATH));
    assert_int_equal(read_again(&found), 0);
}

static void without_a_folder_there_is_no_cache(void **state)
{
    struct cloud_facts found;

    (void)state;
    snprintf(home, sizeof(home), "relative");
    cloud_cache_write(&fake.root, find_variable, &key, &facts);
    assert_int_equal(read_again(&found), -ENOENT);
    snprintf(home, sizeof(home), "%s/missing", fake.path);
    cloud_cache_write(&fake.root, find_variable, &key, &facts);
    assert_int_equal(read_again(&found), -ENOENT);
    home[0] = '\0';
    cloud_cache_write(&fake.root, find_variable, &key, &facts);
    assert_int_equal(read_again(&found), -ENOENT);
}

static void without_an_id_of_the_boot_there_is_no_cache(void **state)
{
    struct cloud_facts found;

    (void)state;
    boot("\n");
    cloud_cache_write(&fake.root, find_variable, &key, &facts);
    assert_false(root_exists(&fake.root, FILE_PATH));
    assert_int_equal(read_again(&found), -ENOENT);
}

static void a_broken_file_is_not_used(void **state)
{
#define KEYS                                                                     \
    "\"boot_id\":\"0f7d7d4e-5b1c-4b8e-9c1f-5b2f1a3b4c5d\",\"service\":\"http://" \
    "169.254.169.254\","
    static const char *const broken[] = {
        "",
        "{",
        "[]",
        "{}",
        "{" KEYS "\"vendor\":7}",
        "{" KEYS "\"vendor\":\"aws\",\"region\":7,\"zone\":null,\"instance_type\":null,"
        "\"account\":null}",
        "{" KEYS
        "\"vendor\":\"aws\",\"region\":\"\\u001b[31m\",\"zone\":null,\"instance_type\":null,"
        "\"account\":null}",
    };
    struct cloud_facts found = { .vendor = "before" };

    (void)state;
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
        fake_root_write(&fake, FILE_PATH, broken[i]);
        assert_int_equal(read_again(&found), -ENOENT);
    }
    assert_string_equal(found.vendor, "before");
    cloud_cache_write(&fake.root, find_variable, &key, &facts);
    assert_int_equal(read_again(&found), 0);
}

static void a_file_that_others_can_change_is_not_used(void **state)
{
    struct cloud_facts found;
    char path[256];

    (void)state;
    cloud_cache_write(&fake.root, find_variable, &key, &facts);
    snprintf(path, sizeof(path), "%s/%s", fake.path, FILE_PATH);
    assert_int_equal(chmod(path, 0666), 0);
    assert_int_equal(read_again(&found), -ENOENT);
    assert_int_equal(chmod(path, 0600), 0);
    assert_int_equal(read_again(&found), 0);
    assert_int_equal(unlink(path), 0);
    fake_root_link(&fake, FILE_PATH, "/dev/zero");
    assert_int_equal(read_again(&found), -ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(facts_are_kept_for_the_user_only, begin, end),
        cmocka_unit_test_setup_teardown(a_reboot_ends_it, begin, end),
        cmocka_unit_test_setup_teardown(it_is_of_one_service, begin, end),
        cmocka_unit_test_setup_teardown(the_folder_for_caches_can_be_chosen, begin, end),
        cmocka_unit_test_setup_teardown(without_a_folder_there_is_no_cache, begin, end),
        cmocka_unit_test_setup_teardown(without_an_id_of_the_boot_there_is_no_cache, begin,
                                        end),
        cmocka_unit_test_setup_teardown(a_broken_file_is_not_used, begin, end),
        cmocka_unit_test_setup_teardown(a_file_that_others_can_change_is_not_used, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
