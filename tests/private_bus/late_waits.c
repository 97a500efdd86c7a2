// SPDX-License-Identifier: LGPL-2.1-or-later
// Shows, preloaded into polkitd, whether polkitd loses wake-ups; data/doc/faults.md explains how to
// run it. polkitd runs each rule in a thread and waits for the result in pthread_cond_timedwait(),
// which releases the mutex. While the file late-waits is in the private bus's folder, the thread
// starts once polkitd has decided to wait, and the wait begins once the thread has reported with
// pthread_cond_signal(). A polkitd that reports with the mutex held cannot report before the wait,
// which then begins after a third of a second. A polkitd that reports without the mutex loses the
// report.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

typedef int (*Create)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
typedef int (*Signal)(pthread_cond_t*);
typedef int (*Wait)(pthread_cond_t*, pthread_mutex_t*, const struct timespec*);

struct Start {
    void* (*function)(void*);
    void* data;
};

static atomic_int isWaiting;
static atomic_int isReported;

static int isAskedFor(void) {
    const char* folder = getenv("GENV_PRIVATE_BUS");
    char path[4096];
    return folder != NULL &&
           snprintf(path, sizeof path, "%s/late-waits", folder) < (int)sizeof path &&
           access(path, F_OK) == 0;
}

static void awaitThat(const atomic_int* flag) {
    const struct timespec pause = {0, 1000000};
    for (int i = 0; i < 300 && !*flag; ++i)
        nanosleep(&pause, NULL);
}

// The conversion that POSIX specifies for functions found by dlsym(3).
static void find(const char* name, void* function) {
    *(void**)function = dlsym(RTLD_NEXT, name);
    if (*(void**)function == NULL)
        abort();
}

static void* startLate(void* data) {
    const struct Start start = *(struct Start*)data;
    free(data);
    awaitThat(&isWaiting);
    return start.function(start.data);
}

__attribute__((visibility("default"))) int pthread_create(pthread_t* thread,
                                                          const pthread_attr_t* attributes,
                                                          void* (*function)(void*), void* data) {
    Create next = NULL;
    find("pthread_create", &next);
    struct Start* start = isAskedFor() ? malloc(sizeof *start) : NULL;
    if (start == NULL)
        return next(thread, attributes, function, data);
    *start = (struct Start){function, data};
    isWaiting = 0;
    isReported = 0;
    return next(thread, attributes, startLate, start);
}

__attribute__((visibility("default"))) int pthread_cond_signal(pthread_cond_t* condition) {
    Signal next = NULL;
    find("pthread_cond_signal", &next);
    const int result = next(condition);
    isReported = 1;
    return result;
}

__attribute__((visibility("default"))) int pthread_cond_timedwait(pthread_cond_t* condition,
                                                                  pthread_mutex_t* mutex,
                                                                  const struct timespec* deadline) {
    Wait next = NULL;
    find("pthread_cond_timedwait", &next);
    if (isAskedFor()) {
        isWaiting = 1;
        awaitThat(&isReported);
    }
    return next(condition, mutex, deadline);
}
