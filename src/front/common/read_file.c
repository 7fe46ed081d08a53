/* SPDX-License-Identifier: Apache-2.0 */
#include "front/common/read_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"

int read_file(const char *path, size_t max_bytes, char **ret, size_t *ret_length)
{
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    AUTO_FREE char *text = NULL;
    size_t length = 0, capacity = 0;

    if (fd < 0)
        return -errno;
    for (;;) {
        ssize_t n;

        if (length == capacity) {
            char *larger;

            capacity = capacity ? capacity * 2 : 4096;
            if (capacity > max_bytes)
                return -EFBIG;
            larger = realloc(text, capacity + 1);
            if (!larger)
                return -ENOMEM;
            text = larger;
        }
        n = read(fd, text + length, capacity - length);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        length += (size_t)n;
    }
    text[length] = '\0';
    *ret = take_ptr(text);
    *ret_length = length;
    return 0;
}
