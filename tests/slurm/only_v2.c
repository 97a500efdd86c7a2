// SPDX-License-Identifier: LGPL-2.1-or-later
// Shows slurmd and slurmstepd only the unified line of /proc/self/cgroup. Their plugin for cgroup
// v2 refuses a machine on which the kernel has v1 hierarchies as well; in the lab's namespaces
// nothing else of these is to be seen.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// A file with the line "0::..." of another, which is closed.
static int unifiedLineOf(int file) {
    char text[8192];
    const ssize_t size = read(file, text, sizeof text - 1);
    close(file);
    if (size < 0)
        return -1;
    text[size] = '\0';
    const int filtered = memfd_create("cgroup", MFD_CLOEXEC);
    for (char *line = text, *end; filtered >= 0 && *line != '\0'; line = end) {
        end = strchr(line, '\n');
        end = end != NULL ? end + 1 : line + strlen(line);
        if (strncmp(line, "0::", 3) == 0 && write(filtered, line, (size_t)(end - line)) < 0)
            return -1;
    }
    if (filtered >= 0)
        lseek(filtered, 0, SEEK_SET);
    return filtered;
}

#define SHOW_UNIFIED_LINE(name)                                                                    \
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
        const int file = real(path, flags, mode);                                                  \
        return file >= 0 && strcmp(path, "/proc/self/cgroup") == 0 ? unifiedLineOf(file) : file;   \
    }

SHOW_UNIFIED_LINE(open)
SHOW_UNIFIED_LINE(open64)
