// SPDX-License-Identifier: LGPL-2.1-or-later
// Preloaded into polkitd before 123, which runs a rule in a thread that reports without holding the
// mutex. On a busy machine the report sometimes comes between the check and the wait, and is lost:
// the answer then comes after 15 s, when genvd no longer waits for it. data/doc/faults.md
// demonstrates that. With this library every timed wait wakes up now and then without a signal, as
// POSIX permits (pthread_cond_timedwait(3p)); polkitd checks again whether there is a result, as it
// must. Nothing else changes.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <time.h>

static const long sliceNanoseconds = 50L * 1000 * 1000;
static const long nanosecondsPerSecond = 1000L * 1000 * 1000;

static struct timespec endOfSlice(void) {
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_nsec += sliceNanoseconds;
    if (end.tv_nsec >= nanosecondsPerSecond) {
        end.tv_nsec -= nanosecondsPerSecond;
        ++end.tv_sec;
    }
    return end;
}

static int isBefore(const struct timespec* a, const struct timespec* b) {
    return a->tv_sec != b->tv_sec ? a->tv_sec < b->tv_sec : a->tv_nsec < b->tv_nsec;
}

// For conditions on the monotonic clock, which polkitd uses.
__attribute__((visibility("default"))) int pthread_cond_timedwait(pthread_cond_t* condition,
                                                                  pthread_mutex_t* mutex,
                                                                  const struct timespec* deadline) {
    const struct timespec end = endOfSlice();
    if (!isBefore(&end, deadline))
        return pthread_cond_clockwait(condition, mutex, CLOCK_MONOTONIC, deadline);
    const int result = pthread_cond_clockwait(condition, mutex, CLOCK_MONOTONIC, &end);
    return result == ETIMEDOUT ? 0 : result;
}
