/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_inventory.h - the GPUs of all vendors in one list, and which of them are assigned to the
 * job: by --gpus, or by variables in the job's environment.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/environment.h"
#include "base/root.h"
#include "source/gpu/gpu.h"
#include "source/gpu/visible.h"

enum { GPU_VENDORS_MAX = 8 };

/* Copies of the option and of the variables, so that another thread can query the drivers later. Zeroed:
 * nothing was specified, so all GPUs are assigned to the job. */
struct gpu_choice {
    /* Indexed by enum visible_source; NULL: not specified; owned. */
    char *texts[VISIBLE_SLURM + 1];
};

/* Copies the option and the variables. `gpus` is the value of --gpus, or NULL. Returns 0 or
 * -ENOMEM. */
int gpu_choice_init(struct gpu_choice *choice, const char *gpus, environment_get *environment);

/* Like gpu_choice_init(), but for running processes, with the environments they were started
 * with: selects every GPU in the list of any of them, or all GPUs if none has a list. An
 * unreadable environment counts as empty. */
int gpu_choice_init_for(struct gpu_choice *choice, const char *gpus, const struct root *root,
                        const pid_t *pids, size_t count);
void gpu_choice_done(struct gpu_choice *choice);

/* Finds a variable in the contents of /proc/PID/environ; NULL: not set. */
const char *gpu_choice_find(const char *block, size_t size, const char *name);

/* Checks the syntax of a list for --gpus, without querying drivers. Returns 0, or -EINVAL with a
 * message. */
int gpu_choice_check(const char *gpus, struct spoor_error *err);

/* The name of a GPU in --gpus and in every output: 1, or 0:1 for a part. */
struct gpu_place {
    unsigned index; /* number of the whole GPU; parts are not counted */
    int part;       /* number of the part; -1: the whole GPU */
};

/* A GPU or a part of one (a MIG device). Parts follow their GPU. */
struct gpu_unit {
    struct gpu_device device; /* its strings are not trusted */
    struct gpu_place place;
    const char *vendor;                /* "nvidia" */
    const struct gpu_sources *sources; /* static */
    size_t opened;                     /* index of the vendor in gpu_inventory.opened */
    size_t number;                     /* index among that vendor's devices */
    uint64_t pci;                      /* sort key: visible_pci_key() of the whole GPU */
    bool is_selected;                  /* the GPU is assigned to the job */
};

struct gpu_opened {
    const struct gpu_vendor *vendor;
    void *state;
};

/* A vendor whose GPUs, or some of them, may exist but cannot be used. */
struct gpu_refusal {
    const char *vendor;
    struct spoor_error error;
    bool is_partial; /* other GPUs of this vendor can be used */
};

struct gpu_inventory {
    struct gpu_opened opened[GPU_VENDORS_MAX];
    size_t opened_count;
    struct gpu_refusal refusals[GPU_VENDORS_MAX];
    size_t refusal_count;
    struct spoor_error
        absent;             /* why a vendor has no GPU here; ENXIO: its driver is not loaded */
    struct gpu_unit *units; /* whole GPUs are sorted by PCI address; owned */
    size_t count;
    struct spoor_error unmatched; /* an item of --gpus that matches no GPU; code 0: none */
    char none_reason[192];        /* why no GPU is assigned to the job; empty: some are */
};

/* Opens the given vendors and selects the job's GPUs. -ENODEV: there is no GPU. On success the
 * caller must close the inventory. `root` must stay open. Queries drivers, so it may take
 * long. */
int gpu_inventory_open(struct gpu_inventory *inventory, const struct root *root,
                       const struct gpu_vendor *const *vendors, size_t vendor_count,
                       const struct gpu_choice *choice);
void gpu_inventory_close(struct gpu_inventory *inventory);

/* The message for a driver that does not respond. */
extern const char gpu_inquiry_silence[];

/* Like gpu_inventory_open(), with `gpus` as the option (or NULL) and our own environment. The
 * drivers are closed again: *ret holds only the list, which gpu_inventory_close() frees.
 * -ETIMEDOUT: no response within 2 s; the thread that waits for it is abandoned. *ret is set
 * even on failure, and then has the vendors' errors. */
int gpu_inquire(const struct root *root, const struct gpu_vendor *const *vendors,
                size_t vendor_count, const char *gpus, struct gpu_inventory *ret);

/* Fills in the vendors of this build except disabled ones. Returns their number. */
size_t gpu_vendors_enabled(unsigned disabled, const struct gpu_vendor *ret[GPU_VENDORS_MAX]);

/* Whether one of the vendors may have a GPU on this machine. Cheap: does not query drivers. */
bool gpu_vendors_may_be_here(const struct root *root, const struct gpu_vendor *const *vendors,
                             size_t count);

/* Returns the number of whole GPUs, without parts. */
size_t gpu_units_count_whole(const struct gpu_unit *units, size_t count);

/* Identifies a GPU in messages: its UUID, or its PCI address if it has none. */
const char *gpu_unit_id(const struct gpu_unit *unit);

/* A place as text: "1", or "0:1" with ':' as `between`. */
struct gpu_place_text {
    char text[24];
} gpu_place_text(struct gpu_place place, char between);

/* Reads "1" or "0_1", and moves the cursor past it. */
bool gpu_place_parse(const char **cursor, struct gpu_place *ret);
