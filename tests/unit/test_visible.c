/* SPDX-License-Identifier: Apache-2.0 */
#include "source/gpu/visible.h"
#include "unit_test.h"

#include <errno.h>
#include <string.h>

#include "base/compiler.h"

/* Sorted by PCI address. */
static const struct gpu_device devices[] = {
    { .uuid = "GPU-bbbb2222", .pci_address = "0000:0a:00.0" },
    { .uuid = "GPU-aaaa1111", .pci_address = "0000:3b:00.0" },
    { .uuid = "GPU-cccc3333", .pci_address = "0000:af:00.0" },
    { .uuid = "MIG-1111", .is_part = true },
    { .uuid = "MIG-1122", .is_part = true, .part = 2 }, /* part 1 is missing */
    { .uuid = "GPU-cccc4444", .pci_address = "10000:01:00.0" },
};
enum { B, A, C, PART_0, PART_1, D, COUNT };

/* Returns the selection as text, one letter for each device: "x" or ".". */
static const char *chosen(enum visible_source source, const char *text, size_t faults,
                          struct spoor_error *note)
{
    static char result[COUNT + 1];
    const struct gpu_device *list[COUNT];
    bool selected[COUNT];

    for (size_t i = 0; i < COUNT; i++) {
        list[i] = &devices[i];
        selected[i] = true; /* stale: visible_select() must overwrite it */
    }
    assert_int_equal(visible_select(source, text, list, COUNT, selected, note), faults);
    for (size_t i = 0; i < COUNT; i++)
        result[i] = selected[i] ? 'x' : '.';
    return result;
}

TEST(gpu_numbers_count_whole_devices_by_pci_address)
{
    assert_string_equal(chosen(VISIBLE_CUDA, "0", 0, NULL), "x.....");
    assert_string_equal(chosen(VISIBLE_CUDA, "1", 0, NULL), ".x....");
    assert_string_equal(chosen(VISIBLE_SLURM, "0,1", 0, NULL), "xx....");
    assert_string_equal(chosen(VISIBLE_SLURM, " 3 , 0 ", 0, NULL), "x....x");
    assert_string_equal(chosen(VISIBLE_OPTION, "0-1,3", 0, NULL), "xx...x");
}

TEST(selecting_a_device_includes_its_mig_parts)
{
    assert_string_equal(chosen(VISIBLE_NVIDIA, "2", 0, NULL), "..xxx.");
    assert_string_equal(chosen(VISIBLE_NVIDIA, "2:2", 0, NULL), "....x.");
    assert_string_equal(chosen(VISIBLE_OPTION, "2:1", 1, NULL), "......");
    assert_string_equal(chosen(VISIBLE_CUDA, "MIG-1111", 0, NULL), "...x..");
    assert_string_equal(chosen(VISIBLE_CUDA, "MIG-112", 0, NULL), "....x.");
}

TEST(a_uuid_may_be_abbreviated_if_unambiguous)
{
    struct spoor_error note = { 0 };

    assert_string_equal(chosen(VISIBLE_CUDA, "GPU-aaaa1111", 0, NULL), ".x....");
    assert_string_equal(chosen(VISIBLE_CUDA, "GPU-b", 0, NULL), "x.....");
    assert_string_equal(chosen(VISIBLE_OPTION, "gpu-AAAA1111", 0, NULL), ".x....");
    assert_string_equal(chosen(VISIBLE_CUDA, "mig-112", 0, NULL), "....x.");
    assert_string_equal(chosen(VISIBLE_OPTION, "GPU-cccc", 1, &note), "......");
    assert_string_equal(note.message, "--gpus: 'GPU-cccc' matches several GPUs");
    assert_int_equal(note.code, ENOTUNIQ);
}

TEST(a_pci_address_selects_a_device)
{
    assert_string_equal(chosen(VISIBLE_OPTION, "0000:3B:00.0", 0, NULL), ".x....");
    assert_string_equal(chosen(VISIBLE_OPTION, "00000000:AF:00.0", 0, NULL), "..xxx.");
    assert_string_equal(chosen(VISIBLE_OPTION, "10000:01:00.0", 0, NULL), ".....x");
    assert_string_equal(chosen(VISIBLE_OPTION, "3B:00.0", 0, NULL), ".x....");
    assert_string_equal(chosen(VISIBLE_OPTION, "01:00.0", 1, NULL), "......");
}

TEST(the_option_may_be_all_or_none)
{
    assert_string_equal(chosen(VISIBLE_OPTION, " ALL ", 0, NULL), "xxxxxx");
    assert_string_equal(chosen(VISIBLE_OPTION, "none", 0, NULL), "......");
    assert_string_equal(chosen(VISIBLE_OPTION, "0,all", 1, NULL), "x.....");
}

/* Such a word needs no special case in a variable: it names no GPU. */
TEST(special_words_in_a_variable_select_no_gpu)
{
    static const struct {
        enum visible_source source;
        const char *text;
    } words[] = {
        { VISIBLE_CUDA, "" },       { VISIBLE_CUDA, "-1" },     { VISIBLE_CUDA, "NoDevFiles" },
        { VISIBLE_CUDA, "none" },   { VISIBLE_CUDA, "all" },    { VISIBLE_NVIDIA, "" },
        { VISIBLE_NVIDIA, "all" },  { VISIBLE_NVIDIA, "none" }, { VISIBLE_NVIDIA, "void" },
        { VISIBLE_ROCR, "" },       { VISIBLE_ROCR, "-1" },     { VISIBLE_ROCR, "all" },
        { VISIBLE_SLURM, "gpu:2" }, { VISIBLE_SLURM, " " },
    };

    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        assert_string_equal(chosen(words[i].source, words[i].text, 1, NULL), "......");
}

/* CUDA ends the list at each of these values. */
TEST(cuda_accepts_only_numbers_and_uuids)
{
    static const char *const items[] = { "0-1", "2:0", "0000:3b:00.0", "3b:00.0" };

    for (size_t i = 0; i < ARRAY_SIZE(items); i++) {
        assert_string_equal(chosen(VISIBLE_CUDA, items[i], 1, NULL), "......");
        assert_string_equal(chosen(VISIBLE_ROCR, items[i], 1, NULL), "......");
        assert_string_not_equal(chosen(VISIBLE_NVIDIA, items[i], 0, NULL), "......");
    }
}

TEST(a_mismatch_is_reported_with_its_value)
{
    char text[300], reason[192];

    visible_explain_none(VISIBLE_CUDA, "foo", reason, sizeof(reason));
    assert_string_equal(reason, "CUDA_VISIBLE_DEVICES=foo matches none of this machine's GPUs");
    visible_explain_none(VISIBLE_OPTION, "none", reason, sizeof(reason));
    assert_string_equal(reason, "--gpus none matches none of this machine's GPUs");
    visible_explain_none(VISIBLE_ROCR, "", reason, sizeof(reason));
    assert_string_equal(reason, "ROCR_VISIBLE_DEVICES is empty: no GPU is assigned to the job");
    memset(text, '9', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    visible_explain_none(VISIBLE_NVIDIA, text, reason, sizeof(reason));
    assert_non_null(strstr(reason, "99... matches none of this machine's GPUs"));
}

TEST(a_list_without_a_match_is_reported)
{
    struct spoor_error note = { 0 };

    assert_string_equal(chosen(VISIBLE_OPTION, "0,GPU-9999,77", 2, &note), "x.....");
    assert_string_equal(note.message, "--gpus: no GPU 'GPU-9999'");
    assert_int_equal(note.code, ENOENT);
    assert_string_equal(chosen(VISIBLE_SLURM, "9", 1, &note), "......");
    assert_string_equal(note.message, "SLURM_JOB_GPUS: no GPU '9'");
}

TEST(cuda_visible_devices_is_read_up_to_the_first_invalid_entry)
{
    assert_string_equal(chosen(VISIBLE_CUDA, "0,-1,1", 1, NULL), "x.....");
    assert_string_equal(chosen(VISIBLE_ROCR, "0,nonsense,1", 1, NULL), "x.....");
    assert_string_equal(chosen(VISIBLE_NVIDIA, "0,nonsense,1", 1, NULL), "xx....");
}

TEST(hostile_text_matches_nothing)
{
    static const char *const hostile[] = {
        "99999999999999999999999",
        "0-18446744073709551615",
        "3-1",
        "0-",
        "-",
        "0:",
        ":",
        "0:99",
        "9:0",
        "0x1",
        "+1",
        "GPU-%s%n",
        "all0",
        "0000:3b:00",
        "3b:00",
        "3b.0",
        ":3b:00.0",
        "0000:3b:00.9",
        "0000:3b:1ff.0",
        "::.",
        "\x1b[31m",
    };

    for (size_t i = 0; i < ARRAY_SIZE(hostile); i++) {
        struct spoor_error note = { 0 };

        (void)chosen(VISIBLE_OPTION, hostile[i], 1, &note);
        assert_non_null(strstr(note.message, "no GPU '"));
    }
    (void)chosen(VISIBLE_OPTION, ",,,", 4, NULL);
}

TEST(huge_text_is_truncated)
{
    static char text[20000];

    memset(text, 'G', sizeof(text) - 1);
    assert_string_equal(chosen(VISIBLE_OPTION, text, 1, NULL), "......");
    memset(text, ',', sizeof(text) - 1);
    assert_string_equal(chosen(VISIBLE_OPTION, text, sizeof(text), NULL), "......");
}

TEST(no_gpu_is_selected_on_a_machine_without_gpus)
{
    struct spoor_error note = { 0 };

    assert_int_equal(visible_select(VISIBLE_OPTION, "all", NULL, 0, NULL, &note), 0);
    assert_int_equal(visible_select(VISIBLE_CUDA, "0", NULL, 0, NULL, &note), 1);
    assert_string_equal(note.message, "CUDA_VISIBLE_DEVICES: no GPU '0'");
}

TEST(devices_without_an_address_come_last)
{
    assert_true(visible_pci_key(devices[A].pci_address) < visible_pci_key(""));
    assert_int_equal(visible_pci_key(""), UINT64_MAX);
}
