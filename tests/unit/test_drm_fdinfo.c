/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/amount.h"
#include "base/compiler.h"
#include "source/gpu/drm_fdinfo.h"
#include "source/gpu/gpu.h"
#include "unit_test.h"

#define HEAD "pos:\t0\nflags:\t02100002\nmnt_id:\t26\nino:\t641\n"

static const struct drm_fdinfo_engine *engine(const struct drm_fdinfo *info, const char *name)
{
    for (size_t i = 0; i < info->engine_count; i++) {
        if (strcmp(info->engine[i].name, name) == 0)
            return &info->engine[i];
    }
    fail_msg("no engine %s", name);
    return info->engine;
}

static const uint64_t *region(const struct drm_fdinfo *info, const char *name)
{
    for (size_t i = 0; i < info->region_count; i++) {
        if (strcmp(info->region[i].name, name) == 0)
            return info->region[i].bytes;
    }
    fail_msg("no region %s", name);
    return info->region[0].bytes;
}

TEST(amdgpu_reports_engines_and_memory)
{
    static const char text[] =
        HEAD "drm-driver:\tamdgpu\ndrm-client-id:\t42\ndrm-pdev:\t0000:03:00.0\npasid:\t32770\n"
             "drm-client-name:\tdrm-engine-dma: 9 ns\n" /* a process may choose any name */
             "drm-total-vram:\t3 MiB\ndrm-shared-vram:\t0\ndrm-active-vram:\t1 KiB\n"
             "drm-resident-vram:\t2048 KiB\ndrm-purgeable-vram:\t5\ndrm-memory-vram:\t1 MiB\n"
             "drm-memory-gtt:\t7 KiB\namd-evicted-vram:\t9 KiB\n"
             "drm-engine-gfx:\t1234567890 ns\ndrm-engine-compute:\t5 ns\n";
    struct drm_fdinfo info;

    assert_int_equal(drm_fdinfo_parse(text, &info), 0);
    assert_string_equal(info.driver, "amdgpu");
    assert_int_equal(info.client_id, 42);
    assert_int_equal(info.pci, 0x300);
    assert_int_equal(info.engine_count, 2);
    assert_int_equal(engine(&info, "gfx")->busy_ns, 1234567890);
    assert_true(engine(&info, "gfx")->capacity == UNKNOWN);
    assert_int_equal(engine(&info, "compute")->busy_ns, 5);
    assert_int_equal(info.region_count, 2);
    assert_int_equal(region(&info, "vram")[DRM_MEMORY_TOTAL], 3 << 20);
    assert_int_equal(region(&info, "vram")[DRM_MEMORY_SHARED], 0);
    assert_int_equal(region(&info, "vram")[DRM_MEMORY_ACTIVE], 1024);
    assert_int_equal(region(&info, "vram")[DRM_MEMORY_PURGEABLE], 5);
    assert_int_equal(region(&info, "vram")[DRM_MEMORY_RESIDENT_OLD], 1 << 20);
    assert_true(region(&info, "gtt")[DRM_MEMORY_RESIDENT] == UNKNOWN);
    assert_int_equal(drm_fdinfo_memory(&info), 2 << 20); /* the newer key counts only VRAM */
}

TEST(old_versions_of_amdgpu_report_percentages)
{
    static const char text[] = HEAD "pdev:\t0000:0b:00.0\npasid:\t32769\nvram mem:\t20480 kB\n"
                                    "gtt mem:\t512 kB\ncpu mem:\t0 kB\ngfx0:\t12.5%\n"
                                    "compute1:\t100.0%\ndec0:\t101.0%\nenc0:\t1.x%\n";
    struct drm_fdinfo info;

    assert_int_equal(drm_fdinfo_parse(text, &info), 0);
    assert_string_equal(info.driver, "");
    assert_int_equal(info.pci, 0xb00);
    assert_int_equal(info.client_id, 32769); /* pasid, the address space ID */
    assert_int_equal(info.engine_count, 3);
    assert_int_equal(engine(&info, "gfx0")->busy_percent_x100, 1205);
    assert_int_equal(engine(&info, "dec0")->busy_percent_x100, 10000); /* overlapping work */
    assert_int_equal(engine(&info, "compute1")->busy_percent_x100, 10000);
    assert_true(engine(&info, "gfx0")->busy_ns == UNKNOWN);
    assert_int_equal(drm_fdinfo_memory(&info), 20 << 20);
}

TEST(i915_reports_engines_and_their_number)
{
    static const char text[] =
        HEAD "drm-driver:\ti915\ndrm-client-id:\t7\ndrm-pdev:\t0000:00:02.0\n"
             "drm-total-system0:\t0\ndrm-resident-system0:\t4096 KiB\n"
             "drm-resident-stolen-system0:\t8 KiB\ndrm-engine-render:\t25662044495 ns\n"
             "drm-engine-copy:\t0 ns\ndrm-engine-video:\t12 ns\ndrm-engine-capacity-video:\t2\n"
             "drm-engine-video-enhance:\t0 ns\n";
    struct drm_fdinfo info;

    assert_int_equal(drm_fdinfo_parse(text, &info), 0);
    assert_int_equal(info.engine_count, 4);
    assert_int_equal(engine(&info, "render")->busy_ns, 25662044495);
    assert_int_equal(engine(&info, "video")->busy_ns, 12);
    assert_int_equal(engine(&info, "video")->capacity, 2);
    assert_int_equal(engine(&info, "video-enhance")->busy_ns, 0);
    assert_int_equal(drm_fdinfo_memory(&info), 4 << 20); /* integrated: system memory */
}

TEST(xe_reports_cycles)
{
    static const char text[] = HEAD
        "drm-driver:\txe\ndrm-client-id:\t3\ndrm-pdev:\t0000:03:00.0\n"
        "drm-resident-system:\t64 KiB\ndrm-resident-gtt:\t192 KiB\ndrm-total-vram0:\t9 MiB\n"
        "drm-resident-vram0:\t8 MiB\ndrm-cycles-rcs:\t28257900\n"
        "drm-total-cycles-rcs:\t7655183225\ndrm-cycles-ccs:\t10\ndrm-total-cycles-ccs:\t20\n"
        "drm-engine-capacity-ccs:\t4\n";
    struct drm_fdinfo info;

    assert_int_equal(drm_fdinfo_parse(text, &info), 0);
    assert_int_equal(engine(&info, "rcs")->cycles, 28257900);
    assert_int_equal(engine(&info, "rcs")->total_cycles, 7655183225);
    assert_true(engine(&info, "rcs")->busy_ns == UNKNOWN);
    assert_int_equal(engine(&info, "ccs")->capacity, 4);
    assert_int_equal(info.region_count, 3); /* drm-total-cycles-rcs is not a region */
    assert_int_equal(drm_fdinfo_memory(&info), 8 << 20);
}

TEST(memory_of_an_integrated_xe_is_system_memory)
{
    struct drm_fdinfo info;

    assert_int_equal(drm_fdinfo_parse("drm-driver: xe\ndrm-client-id: 1\n"
                                      "drm-resident-system: 1 KiB\ndrm-resident-gtt: 2 KiB\n",
                                      &info),
                     0);
    assert_int_equal(drm_fdinfo_memory(&info), 3072);
    assert_true(info.pci == UNKNOWN);
}

TEST(unreported_memory_is_unknown)
{
    struct drm_fdinfo info;

    assert_int_equal(drm_fdinfo_parse("drm-driver: i915\ndrm-client-id: 1\n", &info), 0);
    assert_true(drm_fdinfo_memory(&info) == UNKNOWN);
    assert_int_equal(
        drm_fdinfo_parse("drm-driver: x\ndrm-client-id: 1\ndrm-total-vram: 5\n", &info), 0);
    assert_int_equal(drm_fdinfo_memory(&info), 5); /* the total: nothing better is known */
    assert_int_equal(drm_fdinfo_parse("drm-driver: x\ndrm-client-id: 1\ndrm-shared-vram0: 5\n"
                                      "drm-resident-vram1: 6\ndrm-resident-gtt: 7\n",
                                      &info),
                     0);
    assert_true(drm_fdinfo_memory(&info) ==
                UNKNOWN); /* neither the known part nor the system memory */
}

TEST(frequencies_are_converted_from_their_units)
{
    struct drm_fdinfo info;

    assert_int_equal(drm_fdinfo_parse("drm-driver: msm\ndrm-client-id: 1\ndrm-cycles-gpu: 9\n"
                                      "drm-maxfreq-gpu: 800 MHz\ndrm-maxfreq-b: 5 Hz\n"
                                      "drm-maxfreq-c: 5\n",
                                      &info),
                     0);
    assert_int_equal(engine(&info, "gpu")->max_hz, 800000000);
    assert_int_equal(engine(&info, "b")->max_hz, 5);
    assert_int_equal(info.engine_count, 2); /* a frequency without a unit is ignored */
}

TEST(other_files_are_refused)
{
    static const char *const others[] = { "",
                                          HEAD,
                                          "eventfd-count: 0\n",
                                          "drm-client-id: 4\n",
                                          "drm-driver\n",
                                          "tfd: 5 events: 19\n",
                                          ":\n::\n" };
    struct drm_fdinfo info = { .client_id = 77 };

    for (size_t i = 0; i < ARRAY_SIZE(others); i++)
        assert_int_equal(drm_fdinfo_parse(others[i], &info), -ENOENT);
    assert_int_equal(info.client_id, 77); /* untouched on failure */
}

TEST(a_client_without_an_id_is_refused)
{
    struct drm_fdinfo info = { .client_id = 77 };

    assert_int_equal(drm_fdinfo_parse("drm-driver: xe\n", &info), -EBADMSG);
    assert_int_equal(drm_fdinfo_parse("drm-driver: xe\ndrm-client-id: -4\n", &info), -EBADMSG);
    assert_int_equal(drm_fdinfo_parse("drm-driver: xe\ndrm-client-id: 4x\n", &info), -EBADMSG);
    assert_int_equal(
        drm_fdinfo_parse("drm-driver: xe\ndrm-client-id: 99999999999999999999\n", &info),
        -EBADMSG);
    assert_int_equal(drm_fdinfo_parse("pdev: 0000:0b:00.0\npasid: 0\n", &info), -EBADMSG);
    assert_int_equal(info.client_id, 77);
}

TEST(damaged_lines_are_skipped)
{
    static const char text[] =
        "drm-driver: amdgpu\ndrm-client-id: 4\ndrm-pdev: 0000:zz:00.0\n"
        "drm-engine-: 5 ns\ndrm-engine-gfx: 5\ndrm-engine-dma: x ns\ndrm-engine-enc: 5 nsx\n"
        "drm-engine-a-name-that-is-far-too-long-to-be-one: 5 ns\ndrm-engine-dec 5 ns\n"
        "drm-resident-vram: 5 QiB\ndrm-resident-gtt: 5 KiB KiB\ndrm-resident-: 5\n"
        "drm-resident-cpu: 99999999999999999999\n";
    struct drm_fdinfo info;

    assert_int_equal(drm_fdinfo_parse(text, &info), 0);
    assert_true(info.pci == UNKNOWN);
    assert_int_equal(info.engine_count, 0);
    assert_int_equal(info.region_count, 0);
}

TEST(every_truncated_text_is_safe)
{
    static const char text[] =
        HEAD "drm-driver:\txe\ndrm-client-id:\t3\ndrm-pdev:\t0000:03:00.0\n"
             "drm-resident-vram0:\t8 MiB\ndrm-cycles-rcs:\t28257900\n"
             "gfx0:\t12.5%\nvram mem:\t5 kB\n";
    struct drm_fdinfo info;

    for (size_t length = 0; length <= strlen(text); length++) {
        char *cut = strndup(text, length);
        int r;

        assert_non_null(cut);
        r = drm_fdinfo_parse(cut, &info);
        assert_true(r == 0 || r == -ENOENT || r == -EBADMSG);
        free(cut);
    }
    assert_int_equal(engine(&info, "rcs")->cycles, 28257900);
}

TEST(more_engines_and_regions_than_fit_are_left_out)
{
    enum { COUNT = 500 };
    char *text = malloc(COUNT * 80 + 100), *end = text;
    struct drm_fdinfo info;

    assert_non_null(text);
    end += snprintf(end, 100, "drm-driver: xe\ndrm-client-id: 1\n");
    for (int i = 0; i < COUNT; i++)
        end += snprintf(end, 80, "drm-engine-e%d: %d ns\ndrm-resident-r%d: 1\n", i, i, i);
    assert_int_equal(drm_fdinfo_parse(text, &info), 0);
    assert_int_equal(info.engine_count, DRM_ENGINE_MAX);
    assert_int_equal(info.region_count, DRM_REGION_MAX);
    assert_int_equal(engine(&info, "e15")->busy_ns, 15);
    free(text);
}

TEST(memory_that_does_not_fit_is_unknown)
{
    struct drm_fdinfo info;

    assert_int_equal(drm_fdinfo_parse("drm-driver: a\ndrm-client-id: 1\n"
                                      "drm-resident-vram0: 18446744073709551000\n"
                                      "drm-resident-vram1: 17179869184 GiB\n"
                                      "drm-resident-vram2: 5000\n",
                                      &info),
                     0);
    assert_true(region(&info, "vram1")[DRM_MEMORY_RESIDENT] == UNKNOWN);
    assert_true(drm_fdinfo_memory(&info) == UNKNOWN);
}

TEST(pci_addresses_are_read_and_written)
{
    static const struct {
        const char *text;
        uint64_t pci;
        const char *written;
    } good[] = {
        { "0000:03:00.0", 0x300, "0000:03:00.0" },
        { "0000:C1:1f.7\n", 0xc1ff, "0000:c1:1f.7" },
        { "10000:e1:00.0", 0x10000e100, "10000:e1:00.0" },
        { "0b:00.1", 0xb01, "0000:0b:00.1" },
        { "ffffffff:ff:1f.7 ", 0xffffffffffff, "ffffffff:ff:1f.7" },
    };
    static const char *const bad[] = { "",
                                       ":",
                                       "0000:03:00",
                                       "0000:03:00.",
                                       "0:1:2:3.0",
                                       "0000:03:20.0",
                                       "0000:100:00.0",
                                       "00.0",
                                       "0000:03:00.8",
                                       "0000:03:00.0x",
                                       "x:03:00.0",
                                       "0000::00.0" };
    uint64_t pci = 5;
    char text[17];

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        assert_int_equal(gpu_pci_parse(bad[i], &pci), -EBADMSG);
    assert_int_equal(pci, 5);
    for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
        assert_int_equal(gpu_pci_parse(good[i].text, &pci), 0);
        assert_int_equal(pci, good[i].pci);
        gpu_pci_format(pci, text, sizeof(text));
        assert_string_equal(text, good[i].written);
    }
}
