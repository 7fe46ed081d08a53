/* SPDX-License-Identifier: Apache-2.0 */
/* machine.c - what this machine lets us measure. */
#include "base/error.h"
#include "base/root.h"
#include "job/ladder.h"

int spoor_machine_check(const char *root_path,
                        void (*each)(const struct spoor_rung *rung, void *data), void *data,
                        struct spoor_error *err)
{
    struct root root;
    int r = root_open(root_path, &root);

    if (r < 0)
        return error_sys(err, r, "root folder '%s'", root_path ? root_path : "/");
    ladder_check(&root, each, data);
    root_close(&root);
    return 0;
}
