/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* walker [walk|threads|fork|fork-while-asking|lines|descriptors|reload]: a program that walks NVML.
 * It is built without sanitizers, which do not work together with an audit library. It finds the
 * functions with dlopen() and dlsym(), or, built with WALKER_LINKED, is linked with the library.
 * For each device it prints "UUID total free used, PID...". */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct Device* Device;
typedef struct {
    unsigned long long total, free, used;
} Memory;
typedef struct {
    unsigned pid;
    unsigned long long memory;
} Process;

#ifdef WALKER_LINKED
extern int nvmlInit(void);
extern int nvmlDeviceGetCount(unsigned*);
extern int nvmlDeviceGetHandleByIndex(unsigned, Device*);
extern int nvmlDeviceGetUUID(Device, char*, unsigned);
extern int nvmlDeviceGetMemoryInfo(Device, Memory*);
extern int nvmlDeviceGetComputeRunningProcesses(Device, unsigned*, Process*);
extern int nvmlGenvUnknownFunction(unsigned*);
static void load(void) {}
#else
static int (*nvmlInit)(void);
static int (*nvmlDeviceGetCount)(unsigned*);
static int (*nvmlDeviceGetHandleByIndex)(unsigned, Device*);
static int (*nvmlDeviceGetUUID)(Device, char*, unsigned);
static int (*nvmlDeviceGetMemoryInfo)(Device, Memory*);
static int (*nvmlDeviceGetComputeRunningProcesses)(Device, unsigned*, Process*);
static int (*nvmlGenvUnknownFunction)(unsigned*);
static void* library;

static void load(void) {
    library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
#define FIND(name) *(void**)(&name) = dlsym(library, #name)
    FIND(nvmlInit);
    FIND(nvmlDeviceGetCount);
    FIND(nvmlDeviceGetHandleByIndex);
    FIND(nvmlDeviceGetUUID);
    FIND(nvmlDeviceGetMemoryInfo);
    FIND(nvmlDeviceGetComputeRunningProcesses);
    FIND(nvmlGenvUnknownFunction);
}
#endif

static void fail(const char* what, int result) {
    printf("%s: %d\n", what, result);
    exit(1);
}

/* Whether devices may be taken away while they are listed. */
static int may_lose_devices;

static void show_device(unsigned index) {
    Device device;
    int result = nvmlDeviceGetHandleByIndex(index, &device);
    if (result == 2 && may_lose_devices) {
        printf("a device was taken away\n");
        return;
    }
    if (result != 0)
        fail("handle", result);
    char uuid[96];
    nvmlDeviceGetUUID(device, uuid, sizeof(uuid));
    Memory memory = {0, 0, 0};
    result = nvmlDeviceGetMemoryInfo(device, &memory);
    if (result != 0)
        printf("%s memory %d,", uuid, result);
    else
        printf("%s %llu %llu %llu,", uuid, memory.total, memory.free, memory.used);
    Process processes[64];
    unsigned count = 64;
    result = nvmlDeviceGetComputeRunningProcesses(device, &count, processes);
    if (result != 0 && !may_lose_devices)
        fail("processes", result);
    if (result != 0)
        count = 0;
    for (unsigned i = 0; i < count; ++i)
        printf(" %u", processes[i].pid);
    printf("\n");
}

static unsigned device_count(void) {
    unsigned count = 0;
    int result = nvmlDeviceGetCount(&count);
    if (result != 0)
        fail("count", result);
    return count;
}

static void walk(void) {
    errno = ENOTDIR;
    unsigned count = device_count();
    if (errno != ENOTDIR)
        fail("errno", errno);
    for (unsigned i = 0; i < count; ++i)
        show_device(i);
    Device device;
    if (nvmlDeviceGetHandleByIndex(count, &device) != 2)
        fail("one more device", 0);
    unsigned answer = 0;
    nvmlGenvUnknownFunction(&answer);
    printf("%u devices, unknown function %u\n", count, answer);
    fflush(stdout);
}

static void* ask_often(void* expected) {
    for (int i = 0; i < 300; ++i) {
        Device device;
        Memory memory;
        if (device_count() != *(unsigned*)expected || nvmlDeviceGetHandleByIndex(0, &device) != 0 ||
            nvmlDeviceGetMemoryInfo(device, &memory) != 0)
            fail("a thread's answer", i);
    }
    return NULL;
}

static void in_threads(void) {
    unsigned count = device_count();
    pthread_t threads[8];
    for (int i = 0; i < 8; ++i)
        pthread_create(&threads[i], NULL, ask_often, &count);
    for (int i = 0; i < 8; ++i)
        pthread_join(threads[i], NULL);
    printf("all threads saw %u\n", count);
}

static atomic_int asking_thread;

static void* ask(void* unused) {
    atomic_store(&asking_thread, (int)syscall(SYS_gettid));
    device_count();
    return unused;
}

static int is_waiting(int thread) {
    char path[64];
    long number = -1;
    snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", thread);
    FILE* file = fopen(path, "r");
    if (file == NULL)
        return 0;
    int found = fscanf(file, "%ld", &number) == 1 && (number == SYS_poll || number == SYS_ppoll);
    fclose(file);
    return found;
}

/* For a service that does not answer: the child does not take part in the request for which the
 * other thread waits, and does not wait itself. */
static void in_child_while_asking(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, ask, NULL);
    while (!is_waiting(atomic_load(&asking_thread)))
        sched_yield();
    pid_t child = fork();
    if (child == 0) {
        alarm(2);
        printf("%u devices in the child\n", device_count());
        fflush(stdout);
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    if (status != 0)
        fail("the child", status);
    pthread_join(thread, NULL);
}

/* A plain fork, without another program. */
static void in_child(void) {
    walk();
    pid_t child = fork();
    if (child == 0) {
        alarm(20);
        walk();
        exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    if (status != 0)
        fail("the child", status);
}

static int descriptors(void) {
    int count = 0;
    DIR* folder = opendir("/proc/self/fd");
    while (readdir(folder) != NULL)
        ++count;
    closedir(folder);
    return count;
}

/* Walks at each line on standard input. */
static void at_each_line(void) {
    char line[16];
    may_lose_devices = 1;
    walk();
    while (fgets(line, sizeof(line), stdin) != NULL)
        walk();
}

int main(int argc, char** argv) {
    const char* mode = argc > 1 ? argv[1] : "walk";
    load();
    nvmlInit();
    if (strcmp(mode, "threads") == 0) {
        in_threads();
    } else if (strcmp(mode, "fork") == 0) {
        in_child();
    } else if (strcmp(mode, "fork-while-asking") == 0) {
        in_child_while_asking();
    } else if (strcmp(mode, "lines") == 0) {
        at_each_line();
    } else if (strcmp(mode, "descriptors") == 0) {
        int before = descriptors();
        walk();
        printf("%d more descriptors\n", descriptors() - before);
#ifndef WALKER_LINKED
    } else if (strcmp(mode, "reload") == 0) {
        walk();
        dlclose(library);
        for (int i = 0; i < 256; ++i) /* so that the library gets another address */
            mmap(NULL, 1 << 16, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        load();
        nvmlInit();
        walk();
#endif
    } else {
        walk();
    }
    return 0;
}
