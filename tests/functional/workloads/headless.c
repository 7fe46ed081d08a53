/* SPDX-License-Identifier: Apache-2.0 */
/* headless MIB - a process whose first thread exits while a second one continues. The second
 * thread holds that much memory and burns 0.3 s of CPU time for each byte that it reads. Prints
 * "ready" once the first thread has exited, and "burnt" after each burn. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

static double cpu_seconds(void)
{
    struct timespec time;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static char state_of_first_thread(void)
{
    char path[64], text[256] = "";
    FILE *file;

    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)getpid());
    file = fopen(path, "r");
    if (file && fgets(text, sizeof(text), file) == NULL)
        text[0] = '\0';
    if (file)
        fclose(file);
    return strchr(text, ')') ? strrchr(text, ')')[2] : '?';
}

static void *go_on(void *data)
{
    size_t size = *(size_t *)data;
    char *memory = malloc(size);
    char byte;

    if (!memory)
        exit(1);
    memset(memory, 1, size);
    while (state_of_first_thread() != 'Z')
        usleep(1000);
    puts("ready");
    fflush(stdout);
    while (read(STDIN_FILENO, &byte, 1) > 0) {
        double start = cpu_seconds();

        while (cpu_seconds() - start < 0.3)
            ;
        puts("burnt");
        fflush(stdout);
    }
    exit(memory[size / 2] != 1);
}

int main(int argc, char **argv)
{
    static size_t size;
    pthread_t thread;

    size = (argc > 1 ? strtoul(argv[1], NULL, 10) : 1) << 20;
    if (pthread_create(&thread, NULL, go_on, &size) != 0)
        return 1;
    pthread_exit(NULL);
}
