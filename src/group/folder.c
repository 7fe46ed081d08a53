/* SPDX-License-Identifier: Apache-2.0 */
#include "group/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/parse.h"
#include "group/merge.h"
#include "history/store.h"
#include "output/format.h"
#include "output/save.h"
#include "record/load.h"
#include "text/line_reader.h"
#include "text/text_list.h"

#define BEGIN_START "{\"schema\":\"" RECORD_SCHEMA "\",\"begin\":"
#define END_START "{\"schema\":\"" RECORD_SCHEMA "\",\"run\":{\"id\":\""
#define NODE_START "{\"schema\":\"" RECORD_SCHEMA "\",\"node\":{\"ended\":"

/* ---- reading ----------------------------------------------------------------- */

/* Receives a line of a file; NULL: the line is too long. */
typedef int line_see(const struct line *line, size_t number, void *data,
                     struct spoor_error *err);

static int read_lines(const char *path, line_see *see, void *data, struct spoor_error *err)
{
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    CLEANUP(line_reader_done) struct line_reader reader = { .fd = fd };
    bool is_rest = false; /* a line that is too long was skipped */
    struct line line;
    int r = 0;

    if (fd < 0)
        return error_sys(err, errno, "cannot read '%s'", path);
    for (size_t number = 1; r == 0; number++) {
        int found = line_reader_next(&reader, &line);

        while (found == -E2BIG) {
            reader.start = reader.end;
            is_rest = true;
            found = line_reader_next(&reader, &line);
        }
        if (found < 0)
            return error_sys(err, found, "cannot read '%s'", path);
        if (found == 0 && !is_rest)
            break;
        r = see(is_rest ? NULL : &line, number, data, err);
        is_rest = false;
    }
    return r;
}

/* Several threads parse files, which takes most of the time; the group is shared. */
struct loading {
    struct group group;
    pthread_mutex_t lock; /* guards the group and the error */
    struct text_list paths;
    atomic_size_t next;
    struct spoor_error error;
};

struct loaded_file {
    struct loading *loading;
    const char *name;
};

/* Parses a begin or a report. -EBADMSG: the line is neither. */
static int parse_line(const struct line *line, struct record *ret, struct spoor_error *err)
{
    json_error_t error;
    json_auto_t *root = json_loadb(line->text, line->length, 0, &error);
    const char *schema = json_string_value(json_object_get(root, "schema"));
    json_t *begin = json_object_get(root, "begin");
    int r;

    if (!root && error.line < 0)
        return error_set(err, ENOMEM, "out of memory");
    if (!root)
        return error_set(err, EBADMSG, "not valid JSON (column %d)", error.column);
    if (!schema || strcmp(schema, RECORD_SCHEMA) != 0)
        return error_set(err, EBADMSG, "not of schema " RECORD_SCHEMA);
    if (begin && json_object_set(root, "run", begin) < 0)
        return error_set(err, ENOMEM, "out of memory");
    if (!json_is_object(json_object_get(root, "run")))
        return error_set(err, EBADMSG, "neither a begin nor a report");
    r = record_from_json(root, ret, err);
    if (r == 0 && begin)
        ret->figures = NULL;
    return r;
}

static int see_rank(const struct line *line, size_t number, void *data, struct spoor_error *err)
{
    const struct loaded_file *file = data;
    struct loading *loading = file->loading;
    struct record record;
    int r;

    if (line && (line->length == 0 || begins_with(line->text, NODE_START)))
        return 0;
    r = line ? parse_line(line, &record, err) : error_set(err, EBADMSG, "longer than 1 MiB");
    pthread_mutex_lock(&loading->lock);
    if (r == 0)
        r = group_add(&loading->group, &record, err);
    if (r == -EBADMSG)
        group_skip(&loading->group, file->name, number, err->message);
    pthread_mutex_unlock(&loading->lock);
    return r == -EBADMSG ? 0 : r;
}

static void *load_files(void *data)
{
    struct loading *loading = data;
    size_t i;

    while ((i = atomic_fetch_add(&loading->next, 1)) < loading->paths.count) {
        struct loaded_file file = { loading, strrchr(loading->paths.items[i], '/') + 1 };
        struct spoor_error err = { 0 };

        if (read_lines(loading->paths.items[i], see_rank, &file, &err) == 0)
            continue;
        pthread_mutex_lock(&loading->lock);
        loading->error = err;
        pthread_mutex_unlock(&loading->lock);
        break;
    }
    return NULL;
}

static int list_file(const char *path, void *data, struct spoor_error *err)
{
    return text_list_add(data, path, err);
}

/* The calling thread reads files as well, so no other thread is needed. */
static void load_all(struct loading *loading)
{
    enum { THREADS_MAX = 4 };
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    pthread_t threads[THREADS_MAX - 1];
    size_t count = 0;

    json_object_seed(0); /* before threads need it */
    while (count < THREADS_MAX - 1 && (long)count + 1 < cpus &&
           count + 1 < loading->paths.count &&
           pthread_create(&threads[count], NULL, load_files, loading) == 0)
        count++;
    (void)load_files(loading);
    for (size_t i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}

int group_load(const char *folder, struct record *ret, struct spoor_error *err)
{
    struct loading loading = { .lock = PTHREAD_MUTEX_INITIALIZER };
    int r;

    group_init(&loading.group);
    r = history_visit(folder, list_file, &loading.paths, &loading.error);
    if (r == 0)
        load_all(&loading);
    if (loading.error.code == 0)
        r = group_merge(&loading.group, ret, &loading.error);
    text_list_done(&loading.paths);
    group_done(&loading.group);
    if (r == -ENODATA)
        return error_set(err, ENODATA, "'%s' has no lines of ranks (*.jsonl)", folder);
    return loading.error.code != 0
               ? error_set(err, loading.error.code, "%s", loading.error.message)
               : 0;
}

/* Stops (-EEXIST) at the first file that starts with the begin of a rank. */
static int find_begin(const char *path, UNUSED void *data, UNUSED struct spoor_error *err)
{
    char start[sizeof(BEGIN_START)] = "";
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

    if (fd >= 0)
        (void)!read(fd, start, sizeof(start) - 1);
    return strcmp(start, BEGIN_START) == 0 ? -EEXIST : 0;
}

bool group_is_folder(const char *folder)
{
    return history_visit(folder, find_begin, NULL, NULL) == -EEXIST;
}

/* ---- the ranks of this node ---------------------------------------------------- */

/* The last attempt of a rank. */
struct local_rank {
    uint64_t rank;
    char id[RUN_ID_SIZE];
    pid_t tracker;
    bool has_ended;
};

struct local_ranks {
    struct local_rank *items;
    size_t count;
};

static void see_begin(struct local_ranks *ranks, const struct line *line)
{
    json_auto_t *root = json_loadb(line->text, line->length, 0, NULL);
    const json_t *number = json_object_get(json_object_get(root, "launch"), "rank");
    const json_t *begin = json_object_get(root, "begin");
    const char *id = json_string_value(json_object_get(begin, "id"));
    uint64_t rank = json_is_integer(number) ? (uint64_t)json_integer_value(number) : UNKNOWN;
    struct local_rank *items;
    size_t at = 0;

    while (at < ranks->count && ranks->items[at].rank != rank)
        at++;
    if (at == ranks->count) {
        items = reallocarray(ranks->items, at + 1, sizeof(*items));
        if (!items)
            return;
        ranks->items = items;
        ranks->count++;
    }
    ranks->items[at] = (struct local_rank){
        .rank = rank, .tracker = (pid_t)json_integer_value(json_object_get(begin, "pid"))
    };
    (void)snprintf(ranks->items[at].id, RUN_ID_SIZE, "%s", id ? id : "");
}

static int see_local(const struct line *line, UNUSED size_t number, void *data,
                     UNUSED struct spoor_error *err)
{
    struct local_ranks *ranks = data;
    const char *id = line ? line->text + strlen(END_START) : NULL;

    if (line && begins_with(line->text, BEGIN_START))
        see_begin(ranks, line);
    for (size_t i = 0; line && i < ranks->count; i++) {
        if (begins_with(line->text, END_START) &&
            strncmp(id, ranks->items[i].id, RUN_ID_SIZE - 1) == 0)
            ranks->items[i].has_ended = true;
    }
    return 0;
}

/* Returns the number of ranks of a file; 0 if some have not ended. Ranks from `all` on
 * belong to an earlier run with more ranks and do not count. */
static size_t count_ended(const char *path, uint64_t all)
{
    size_t count = 0;
    struct local_ranks ranks = { 0 };
    bool is_complete = read_lines(path, see_local, &ranks, NULL) == 0;

    for (size_t i = 0; i < ranks.count; i++) {
        bool counts = !is_known(ranks.items[i].rank) || ranks.items[i].rank < all;

        is_complete &= !counts || ranks.items[i].has_ended;
        count += counts;
    }
    free(ranks.items);
    return is_complete ? count : 0;
}

static int name_file(const char *folder, char path[PATH_MAX])
{
    char host[256];
    int n;

    history_name_host(host);
    n = snprintf(path, PATH_MAX, "%s/%s.jsonl", folder, host);
    return n < 0 || n >= PATH_MAX ? -ENAMETOOLONG : 0;
}

pid_t group_find_running(const char *folder, uint64_t rank)
{
    struct local_ranks ranks = { 0 };
    char path[PATH_MAX];
    pid_t tracker = 0;

    if (name_file(folder, path) == 0)
        (void)read_lines(path, see_local, &ranks, NULL); /* the file may not exist yet */
    for (size_t i = 0; i < ranks.count; i++) {
        if (ranks.items[i].rank == rank && !ranks.items[i].has_ended)
            tracker = ranks.items[i].tracker;
    }
    free(ranks.items);
    return tracker;
}

/* ---- the last rank ---------------------------------------------------------------- */

/* Adds the number of ended ranks of a node. -EAGAIN: some of its ranks have not ended. */
static int add_ended(const char *path, void *data, UNUSED struct spoor_error *err)
{
    enum { NODE_LINE_MAX = 128 };
    char text[NODE_LINE_MAX + 1] = "";
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    off_t size = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
    const char *line;

    if (size <= 0 ||
        pread(fd, text, NODE_LINE_MAX, size > NODE_LINE_MAX ? size - NODE_LINE_MAX : 0) <= 0)
        return -EAGAIN;
    line = strstr(text, NODE_START);
    if (!line || text[strlen(text) - 1] != '\n')
        return -EAGAIN;
    for (const char *next = line; next; next = strstr(next + 1, NODE_START))
        line = next;
    *(uint64_t *)data += strtoull(line + strlen(NODE_START), NULL, 10);
    return 0;
}

static bool have_all_ended(const char *folder, uint64_t ranks)
{
    uint64_t ended = 0;

    return history_visit(folder, add_ended, &ended, NULL) == 0 && ended == ranks;
}

static int add_size(const char *path, void *data, UNUSED struct spoor_error *err)
{
    struct stat status;

    if (stat(path, &status) == 0)
        *(off_t *)data += status.st_size;
    return 0;
}

/* Returns the size of all files. Lines are only appended, so if it has not changed, no rank
 * began or ended. */
static off_t size_of_lines(const char *folder)
{
    off_t size = 0;

    (void)history_visit(folder, add_size, &size, NULL);
    return size;
}

static void remove_merged(const char *folder, const char *suffix)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof(path), "%s/merged.%s", folder, suffix);

    if (n > 0 && (size_t)n < sizeof(path))
        (void)unlink(path);
}

/* Takes a lock, so that ranks that end at the same time do not all merge. link() is atomic
 * on every file system. */
static bool take_lock(const char *folder)
{
    char own[PATH_MAX], lock[PATH_MAX], host[256];
    int n, fd;
    bool is_ours;

    history_name_host(host);
    n = snprintf(own, sizeof(own), "%s/.%s.%d", folder, host, (int)getpid());
    if (n < 0 || (size_t)n >= sizeof(own) ||
        (size_t)snprintf(lock, sizeof(lock), "%s/merged.lock", folder) >= sizeof(lock))
        return false;
    fd = open(own, O_CREAT | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return false;
    close(fd);
    is_ours = link(own, lock) == 0;
    (void)unlink(own);
    return is_ours;
}

static int write_merged(const char *folder, struct spoor_error *err)
{
    static const enum spoor_format formats[] = { SPOOR_JSON, SPOOR_HTML };
    struct record record;
    int r = group_load(folder, &record, err);

    if (r < 0)
        return r;
    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(formats); i++) {
        char path[PATH_MAX];
        int n =
            snprintf(path, sizeof(path), "%s/merged%s", folder, format_get(formats[i])->suffix);

        if (format_check(formats[i], NULL) == 0 && n > 0 && (size_t)n < sizeof(path))
            r = save_to_file(&record, 1, formats[i], path, SPOOR_REPLACE, err);
    }
    record_done(&record);
    return r;
}

/*
 * Writes the merged report if all ranks have ended; returns 1 if it did. If runs share a
 * folder, the first rank of a run may find that all ranks of the previous run have ended, and
 * merge those. Therefore, after writing, checks whether a rank began or ended meanwhile, and
 * repeats if so. A rank that does not get the lock has already added its lines, so the owner of
 * the lock finds them.
 */
static int merge_all_ended(const char *folder, uint64_t ranks, struct spoor_error *err)
{
    bool has_written = false;
    off_t size;
    int r = 0;

    do {
        size = size_of_lines(folder);
        if (!take_lock(folder))
            break;
        has_written = have_all_ended(folder, ranks);
        if (has_written) {
            r = write_merged(folder, err);
        } else {
            remove_merged(folder, "json");
            remove_merged(folder, "html");
        }
        remove_merged(folder, "lock");
    } while (r == 0 && size_of_lines(folder) != size);
    return r < 0 ? r : has_written;
}

/* ---- for ranks -------------------------------------------------------------------- */

static int append_line(const char *folder, const struct buffer *line, char path[PATH_MAX],
                       struct spoor_error *err)
{
    int r = buffer_error(line);

    if (r == 0)
        r = name_file(folder, path);
    if (r == 0)
        r = history_append_line(path, line);
    return r < 0 ? error_sys(err, r, "cannot write to '%s'", folder) : 0;
}

int group_begin(const char *folder, const struct record *record, struct spoor_error *err)
{
    CLEANUP(buffer_done) struct buffer line = { 0 };
    char path[PATH_MAX];
    int r;

    rank_write_begin(record, &line);
    r = append_line(folder, &line, path, err);
    /* Remove files of an earlier run, or of a rank that was killed while it merged. If a
     * rank is merging now, it will find the new line. */
    remove_merged(folder, "lock");
    remove_merged(folder, "json");
    remove_merged(folder, "html");
    return r;
}

int group_end(const char *folder, const struct buffer *line, uint64_t ranks,
              struct spoor_error *err)
{
    CLEANUP(buffer_done) struct buffer node = { 0 };
    char path[PATH_MAX];
    size_t ended;
    int r = append_line(folder, line, path, err);

    if (r < 0)
        return r;
    ended = count_ended(path, ranks);
    if (ended == 0)
        return 0;
    buffer_format(&node, NODE_START "%zu}}\n", ended);
    r = append_line(folder, &node, path, err);
    if (r < 0 || !have_all_ended(folder, ranks))
        return r;
    return merge_all_ended(folder, ranks, err);
}
