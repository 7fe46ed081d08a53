/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay.c - runs all targets on saved inputs and on mutants of these. Needs no libFuzzer.
 *
 * usage: fuzz-replay [-n MUTANTS] [-s SEED] [-t TARGET] FOLDER...
 *
 * The inputs of a target are the files of FOLDER/TARGET. The mutants depend only on the seed,
 * the target and the inputs. Each target runs in a child process. The output is TAP; an input
 * that makes a target fail is saved in the working directory.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fuzz.h"
#include "mutate.h"

enum { INPUT_SECONDS_MAX = 5, COST_UNIT = 4 };

/* The input that a child is processing. The memory is shared with the parent. */
struct current {
    char what[256];
    size_t length;
    unsigned char data[FUZZ_INPUT_MAX];
};

struct inputs {
    struct input {
        char name[256];
        unsigned char *data;
        size_t length;
    } * items;
    size_t count;
};

static const char usage[] = "usage: fuzz-replay [-n MUTANTS] [-s SEED] [-t TARGET] FOLDER...\n";
static unsigned long mutant_count = 1000, seed = 1;
static struct current *current;

/* ---- inputs --------------------------------------------------------------------- */

static void add_input(struct inputs *inputs, const char *path, const char *name)
{
    struct input *input;
    FILE *file = fopen(path, "rbe");

    CHECK(file != NULL);
    inputs->items = realloc(inputs->items, (inputs->count + 1) * sizeof(*inputs->items));
    CHECK(inputs->items != NULL);
    input = &inputs->items[inputs->count++];
    (void)snprintf(input->name, sizeof(input->name), "%s", name);
    input->data = malloc(FUZZ_INPUT_MAX);
    CHECK(input->data != NULL);
    input->length = fread(input->data, 1, FUZZ_INPUT_MAX, file);
    (void)fclose(file);
}

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static void add_folder(struct inputs *inputs, const char *folder, const char *target)
{
    struct dirent **entries = NULL;
    char path[PATH_MAX];
    int count;

    (void)snprintf(path, sizeof(path), "%s/%s", folder, target);
    count = scandir(path, &entries, is_visible, alphasort);
    CHECK(count >= 0 || errno == ENOENT);
    for (int i = 0; i < count; i++) {
        (void)snprintf(path, sizeof(path), "%s/%s/%s", folder, target, entries[i]->d_name);
        add_input(inputs, path, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
}

static void inputs_done(struct inputs *inputs)
{
    for (size_t i = 0; i < inputs->count; i++)
        free(inputs->items[i].data);
    free(inputs->items);
}

/* ---- a target ------------------------------------------------------------------- */

static void run_current(const struct fuzz_target *target)
{
    struct itimerval limit = { .it_value.tv_sec = INPUT_SECONDS_MAX };

    CHECK(setitimer(ITIMER_PROF, &limit, NULL) == 0); /* CPU time: the machine may be busy */
    fuzz_run(target, current->data, current->length);
}

static void run_mutants(const struct fuzz_target *target, const struct inputs *inputs)
{
    unsigned cost = target->cost > COST_UNIT ? target->cost / COST_UNIT : 1;
    uint64_t state = seed;

    for (const char *c = target->name; *c; c++)
        state = state * 31 + (unsigned char)*c;
    for (unsigned long i = 0; i < mutant_count / cost; i++) {
        const struct input *input = &inputs->items[random_next(&state) % inputs->count];
        const struct input *other = &inputs->items[random_next(&state) % inputs->count];

        (void)snprintf(current->what, sizeof(current->what), "mutant %lu of %.200s", i,
                       input->name);
        memcpy(current->data, input->data, input->length);
        current->length = mutate(current->data, input->length, FUZZ_INPUT_MAX, other->data,
                                 other->length, &state);
        run_current(target);
    }
}

static void run_target(const struct fuzz_target *target, char **folders)
{
    struct inputs inputs = { 0 };

    for (; *folders; folders++)
        add_folder(&inputs, *folders, target->name);
    (void)snprintf(current->what, sizeof(current->what), "no inputs");
    CHECK(inputs.count > 0);
    for (size_t i = 0; i < inputs.count; i++) {
        (void)snprintf(current->what, sizeof(current->what), "%s", inputs.items[i].name);
        memcpy(current->data, inputs.items[i].data, inputs.items[i].length);
        current->length = inputs.items[i].length;
        run_current(target);
    }
    run_mutants(target, &inputs);
    inputs_done(&inputs);
}

/* Saves the input that made a target fail. */
static void save_current(const struct fuzz_target *target, int status)
{
    char path[64];
    FILE *file;

    (void)snprintf(path, sizeof(path), "crash-%s", target->name);
    file = fopen(path, "wbe");
    if (file) {
        (void)fwrite(current->data, 1, current->length, file);
        (void)fclose(file);
    }
    printf("# %s: %s %d; the input is in ./%s\n", current->what,
           WIFSIGNALED(status) ? "signal" : "status",
           WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), path);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF)
        printf("# it took more than %d s of CPU time\n", INPUT_SECONDS_MAX);
}

/* Runs a target in a child process. Returns whether it passed. */
static bool try_target(const struct fuzz_target *target, char **folders)
{
    int status = 0;
    pid_t pid;

    (void)fflush(stdout);
    memset(current, 0, sizeof(*current));
    pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        run_target(target, folders);
        exit(0);
    }
    CHECK(waitpid(pid, &status, 0) == pid);
    if (status != 0)
        save_current(target, status);
    return status == 0;
}

int main(int argc, char **argv)
{
    const char *only = NULL;
    size_t count = 0, failed = 0;
    int option;

    while ((option = getopt(argc, argv, "n:s:t:")) != -1) {
        if (option == 'n')
            mutant_count = strtoul(optarg, NULL, 10);
        else if (option == 's')
            seed = strtoul(optarg, NULL, 10);
        else if (option == 't')
            only = optarg;
        else
            return fputs(usage, stderr), 2;
    }
    if (optind == argc || (only && !fuzz_find(only)))
        return fputs(usage, stderr), 2;
    current =
        mmap(NULL, sizeof(*current), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(current != MAP_FAILED);
    (void)fuzz_scratch();
    for (const struct fuzz_target *target; (target = fuzz_target(count)) != NULL; count++) {
        bool is_ok =
            (only && strcmp(target->name, only) != 0) || try_target(target, argv + optind);

        failed += !is_ok;
        printf("%s %zu - %s\n", is_ok ? "ok" : "not ok", count + 1, target->name);
    }
    printf("1..%zu\n", count);
    return failed > 0;
}
