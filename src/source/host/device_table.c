/* SPDX-License-Identifier: Apache-2.0 */
#include "source/host/device_table.h"

#include <string.h>

enum device_class device_table_get(struct device_table *table, const struct root *root,
                                   size_t line, const char *name, device_classify *classify)
{
    size_t length = strlen(name);
    struct device *device;

    if (line >= DEVICE_TABLE_SIZE || line > table->count || length >= DEVICE_NAME_SIZE)
        return classify(root, name);

    device = &table->line[line];
    if (line == table->count || strcmp(device->name, name) != 0) {
        device->class = classify(root, name);
        memcpy(device->name, name, length + 1);
        table->count += line == table->count;
    }
    return device->class;
}
