/* SPDX-License-Identifier: Apache-2.0 */
#include "services/upload/gzip.h"

#include <errno.h>
#include <stdint.h>
#include <zlib.h>

/* Window bits of zlib.h: the largest window, and a header of gzip instead of zlib. */
enum { WINDOW_BITS = 15 + 16, MEMORY_LEVEL = 8 };

int gzip_add(const char *bytes, size_t size, struct buffer *out)
{
    z_stream stream = { .next_in = (unsigned char *)(uintptr_t)bytes, .avail_in = (uInt)size };
    unsigned char piece[16 << 10];
    int r;

    if (size > UINT32_MAX ||
        deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, WINDOW_BITS, MEMORY_LEVEL,
                     Z_DEFAULT_STRATEGY) != Z_OK)
        return -ENOMEM;
    do {
        stream.next_out = piece;
        stream.avail_out = sizeof(piece);
        r = deflate(&stream, Z_FINISH);
        buffer_add(out, (const char *)piece, sizeof(piece) - stream.avail_out);
    } while (r == Z_OK || r == Z_BUF_ERROR);
    (void)deflateEnd(&stream);
    return r == Z_STREAM_END && buffer_error(out) == 0 ? 0 : -ENOMEM;
}
