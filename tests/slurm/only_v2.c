// SPDX-License-Identifier: LGPL-2.1-or-later
// Preloaded into slurmd and slurmstepd: shows them only the unified line of /proc/PID/cgroup, and
// in /proc/PID/mountinfo only the cgroup2 of their own namespace. Their plugin for cgroup v2
// refuses a machine whose kernel also has v1 hierarchies, and one whose own cgroup2 is below the
// lab's mount. The namespaces of the lab show nothing else of these.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// Checks a line of /proc/PID/cgroup.
static bool isUnified(const char* line) {
    return strncmp(line, "0::", 3) == 0;
}

// Checks a line of /proc/PID/mountinfo without its newline: "36 35 0:30 ROOT PLACE ... - cgroup2
// ...".
static bool isOfThisNamespace(const char* line) {
    char root[3] = "";
    sscanf(line, "%*s %*s %*s %2s", root);
    return strstr(line, " - cgroup2 ") == NULL || strcmp(root, "/") == 0;
}

// Returns a file with the accepted lines of another file. The other file is closed.
static int filtered(int file, bool (*isKept)(const char* line)) {
    const int kept = memfd_create("filtered", MFD_CLOEXEC);
    FILE* lines = fdopen(file, "r");
    char* line = NULL;
    size_t room = 0;
    ssize_t size = 0;
    bool isWritten = kept >= 0 && lines != NULL;
    while (isWritten && (size = getline(&line, &room, lines)) > 0)
        isWritten = !isKept(line) || write(kept, line, (size_t)size) == size;
    free(line);
    if (lines != NULL)
        fclose(lines);
    if (!isWritten)
        return -1;
    lseek(kept, 0, SEEK_SET);
    return kept;
}

static bool isOfProcess(const char* path, const char* name) {
    const size_t length = strlen(path);
    const size_t tail = strlen(name);
    return strncmp(path, "/proc/", 6) == 0 && length > tail &&
           strcmp(path + length - tail, name) == 0;
}

static int shown(int file, const char* path) {
    if (file >= 0 && isOfProcess(path, "/cgroup"))
        return filtered(file, isUnified);
    if (file >= 0 && isOfProcess(path, "/mountinfo"))
        return filtered(file, isOfThisNamespace);
    return file;
}

#define SHOW_V2(name)                                                                              \
    int name(const char* path, int flags, ...) {                                                   \
        static int (*real)(const char*, int, ...);                                                 \
        if (real == NULL)                                                                          \
            *(void**)&real = dlsym(RTLD_NEXT, #name);                                              \
        mode_t mode = 0;                                                                           \
        if ((flags & (O_CREAT | __O_TMPFILE)) != 0) {                                              \
            va_list arguments;                                                                     \
            va_start(arguments, flags);                                                            \
            mode = va_arg(arguments, mode_t);                                                      \
            va_end(arguments);                                                                     \
        }                                                                                          \
        return shown(real(path, flags, mode), path);                                               \
    }

SHOW_V2(open)
SHOW_V2(open64)

FILE* fopen(const char* path, const char* mode) {
    static FILE* (*real)(const char*, const char*);
    if (real == NULL)
        *(void**)&real = dlsym(RTLD_NEXT, "fopen");
    if (!isOfProcess(path, "/cgroup") && !isOfProcess(path, "/mountinfo"))
        return real(path, mode);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    return file >= 0 ? fdopen(file, mode) : NULL;
}
