// SPDX-License-Identifier: LGPL-2.1-or-later
// LD_PRELOAD loads this library into genvd. It makes the call that a test chose fail, shifts the
// clocks (injection.hpp), and lets a test hang the user database. Programs that genvd starts
// inherit the library, but it does not affect them. Nothing here allocates memory, and system calls
// bypass the C library.
#include "tests/faults/injection.hpp"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <systemd/sd-bus.h>
#include <time.h>
#include <unistd.h>

#include <cstdarg>
#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace {

using genv::tests::CallClass;
using genv::tests::FaultAction;
using genv::tests::Injection;

Injection* injection = nullptr;
constexpr int maxTracked = 4096;
bool tracked[maxTracked]; // descriptors of files in the runtime directory
const char* runtimeDirectory = "";
const char* userDatabase = ""; // a named pipe while it hangs, until its other end is opened

__attribute__((constructor)) void attach() {
    const char* path = std::getenv(genv::tests::injectionVariable);
    const char* runtime = std::getenv("RUNTIME_DIRECTORY");
    if (path == nullptr || runtime == nullptr ||
        std::strcmp(program_invocation_short_name, "genvd") != 0)
        return;
    runtimeDirectory = runtime;
    if (const char* gate = std::getenv(genv::tests::userDatabaseVariable))
        userDatabase = gate;
    const long fd = ::syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0);
    if (fd < 0)
        return;
    void* page = ::mmap(nullptr, sizeof(Injection), PROT_READ | PROT_WRITE, MAP_SHARED,
                        static_cast<int>(fd), 0);
    ::syscall(SYS_close, fd);
    if (page != MAP_FAILED)
        injection = static_cast<Injection*>(page);
}

bool isMainThread() {
    return ::syscall(SYS_gettid) == ::getpid();
}

// Counts a call and returns whether it is to fail.
bool strikes(CallClass callClass) {
    if (injection == nullptr || __atomic_load_n(&injection->armed, __ATOMIC_ACQUIRE) == 0 ||
        (injection->classes & callClass) == 0 ||
        (callClass != genv::tests::spawnCalls && !isMainThread()))
        return false;
    const std::uint32_t number = __atomic_add_fetch(&injection->seen, 1, __ATOMIC_RELAXED);
    if (injection->action == FaultAction::None || number < injection->first ||
        (injection->count != 0 && number >= injection->first + injection->count))
        return false;
    __atomic_add_fetch(&injection->fired, 1, __ATOMIC_RELEASE);
    return true;
}

// Does the action in place of a call, and returns the error with which the call fails.
int strike() {
    if (injection->action != FaultAction::Fail)
        ::syscall(SYS_kill, ::getpid(), SIGKILL);
    return injection->error;
}

int result(long value) {
    return static_cast<int>(value); // syscall(2) has set errno
}

bool isInRuntimeDirectory(int folder, const char* path) {
    if (folder != AT_FDCWD && path[0] != '/')
        return true; // the service opens no other files this way
    return std::strncmp(path, runtimeDirectory, std::strlen(runtimeDirectory)) == 0;
}

int openAt(int folder, const char* path, int flags, mode_t mode) {
    const bool own = injection != nullptr && isInRuntimeDirectory(folder, path);
    const bool writes = (flags & (O_WRONLY | O_RDWR | O_CREAT)) != 0;
    if ((own && writes && strikes(genv::tests::storeCalls)) || strikes(genv::tests::openCalls)) {
        errno = strike();
        return -1;
    }
    const int fd = result(::syscall(SYS_openat, folder, path, flags, mode));
    if (fd >= 0 && fd < maxTracked)
        tracked[fd] = own && (flags & O_DIRECTORY) == 0;
    return fd;
}

bool isTracked(int fd) {
    return fd >= 0 && fd < maxTracked && tracked[fd];
}

template <typename Function, typename... Arguments>
int guarded(CallClass callClass, Function call, Arguments... arguments) {
    if (strikes(callClass)) {
        errno = strike();
        return -1;
    }
    return result(call(arguments...));
}

// Calls a function of sd-bus, which returns its error.
template <typename... Arguments>
int registered(const char* function, Arguments... arguments) {
    if (strikes(genv::tests::busRegistrations))
        return -strike();
    const auto real = reinterpret_cast<int (*)(Arguments...)>(::dlsym(RTLD_NEXT, function));
    return real(arguments...);
}

} // namespace

// The library replaces the C library's own names.
// NOLINTBEGIN(bugprone-reserved-identifier)
extern "C" {

void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* memory, std::size_t size);

int open(const char* path, int flags, ...) {
    va_list list;
    va_start(list, flags);
    const auto mode = (flags & O_CREAT) != 0 ? va_arg(list, mode_t) : 0;
    va_end(list);
    return openAt(AT_FDCWD, path, flags, mode);
}

int open64(const char* path, int flags, ...) {
    va_list list;
    va_start(list, flags);
    const auto mode = (flags & O_CREAT) != 0 ? va_arg(list, mode_t) : 0;
    va_end(list);
    return openAt(AT_FDCWD, path, flags, mode);
}

int openat(int folder, const char* path, int flags, ...) {
    va_list list;
    va_start(list, flags);
    const auto mode = (flags & O_CREAT) != 0 ? va_arg(list, mode_t) : 0;
    va_end(list);
    return openAt(folder, path, flags, mode);
}

int openat64(int folder, const char* path, int flags, ...) {
    va_list list;
    va_start(list, flags);
    const auto mode = (flags & O_CREAT) != 0 ? va_arg(list, mode_t) : 0;
    va_end(list);
    return openAt(folder, path, flags, mode);
}

// _FORTIFY_SOURCE replaces the functions above with these.
int __open_2(const char* path, int flags) {
    return openAt(AT_FDCWD, path, flags, 0);
}
int __open64_2(const char* path, int flags) {
    return openAt(AT_FDCWD, path, flags, 0);
}
int __openat_2(int folder, const char* path, int flags) {
    return openAt(folder, path, flags, 0);
}
int __openat64_2(int folder, const char* path, int flags) {
    return openAt(folder, path, flags, 0);
}

ssize_t write(int fd, const void* data, std::size_t size) {
    if (isTracked(fd) && strikes(genv::tests::shortWrites))
        return ::syscall(SYS_write, fd, data, size / 2);
    if (isTracked(fd) && strikes(genv::tests::storeCalls)) {
        if (injection->action == FaultAction::HalfWrite)
            ::syscall(SYS_write, fd, data, size / 2);
        errno = strike();
        return -1;
    }
    return ::syscall(SYS_write, fd, data, size);
}

ssize_t read(int fd, void* data, std::size_t size) {
    if (isTracked(fd) && strikes(genv::tests::readCalls)) {
        errno = strike();
        return -1;
    }
    return ::syscall(SYS_read, fd, data, size);
}

int getpwuid_r(uid_t uid, passwd* entry, char* buffer, std::size_t size, passwd** found) {
    const long gate = ::syscall(SYS_openat, AT_FDCWD, userDatabase, O_RDONLY | O_CLOEXEC, 0);
    if (gate >= 0)
        ::syscall(SYS_close, gate);
    static const auto real =
        reinterpret_cast<decltype(&getpwuid_r)>(::dlsym(RTLD_NEXT, "getpwuid_r"));
    return real(uid, entry, buffer, size, found);
}

// A close that fails has closed the descriptor all the same.
int close(int fd) {
    const bool strikesHere = isTracked(fd) && strikes(genv::tests::storeCalls);
    const int error = strikesHere ? strike() : 0;
    if (fd >= 0 && fd < maxTracked)
        tracked[fd] = false;
    const int done = result(::syscall(SYS_close, fd));
    if (!strikesHere)
        return done;
    errno = error;
    return -1;
}

int renameat(int from, const char* name, int to, const char* other) noexcept {
    return guarded(genv::tests::storeCalls,
                   [=] { return ::syscall(SYS_renameat, from, name, to, other); });
}

int unlinkat(int folder, const char* name, int flags) noexcept {
    return guarded(genv::tests::storeCalls,
                   [=] { return ::syscall(SYS_unlinkat, folder, name, flags); });
}

int mkdir(const char* path, mode_t mode) noexcept {
    return guarded(genv::tests::storeCalls,
                   [=] { return ::syscall(SYS_mkdirat, AT_FDCWD, path, mode); });
}

ssize_t sendmsg(int fd, const msghdr* message, int flags) {
    if (strikes(genv::tests::sendCalls)) {
        errno = strike();
        return -1;
    }
    return ::syscall(SYS_sendmsg, fd, message, flags);
}

int pidfd_open(pid_t pid, unsigned flags) noexcept {
    return guarded(genv::tests::openCalls, [=] { return ::syscall(SYS_pidfd_open, pid, flags); });
}

int pipe2(int* ends, int flags) noexcept {
    return guarded(genv::tests::openCalls, [=] { return ::syscall(SYS_pipe2, ends, flags); });
}

int dup(int fd) noexcept {
    return guarded(genv::tests::openCalls, [=] { return ::syscall(SYS_dup, fd); });
}

// The argument of every command is a word. Commands without an argument ignore it.
int fcntl64(int fd, int command, ...) {
    va_list list;
    va_start(list, command);
    const long argument = va_arg(list, long);
    va_end(list);
    const bool makesOne = command == F_DUPFD || command == F_DUPFD_CLOEXEC;
    return guarded(makesOne ? genv::tests::openCalls : CallClass{},
                   [=] { return ::syscall(SYS_fcntl, fd, command, argument); });
}

int fcntl(int fd, int command, ...) {
    va_list list;
    va_start(list, command);
    const long argument = va_arg(list, long);
    va_end(list);
    return fcntl64(fd, command, argument);
}

int epoll_ctl(int epoll, int operation, int fd, epoll_event* event) noexcept {
    return guarded(operation == EPOLL_CTL_ADD ? genv::tests::openCalls : CallClass{},
                   [=] { return ::syscall(SYS_epoll_ctl, epoll, operation, fd, event); });
}

int posix_spawn(pid_t* pid, const char* path, const posix_spawn_file_actions_t* actions,
                const posix_spawnattr_t* attributes, char* const* arguments,
                char* const* environment) {
    if (strikes(genv::tests::spawnCalls))
        return strike();
    using Function = decltype(&::posix_spawn);
    const auto real = reinterpret_cast<Function>(::dlsym(RTLD_NEXT, "posix_spawn"));
    return real(pid, path, actions, attributes, arguments, environment);
}

int clock_gettime(clockid_t clock, timespec* time) noexcept {
    const int done = result(::syscall(SYS_clock_gettime, clock, time));
    if (done == 0 && injection != nullptr && (clock == CLOCK_REALTIME || clock == CLOCK_BOOTTIME)) {
        const std::int64_t offset = __atomic_load_n(
            clock == CLOCK_REALTIME ? &injection->wallOffset : &injection->bootOffset,
            __ATOMIC_ACQUIRE);
        time->tv_sec += offset / 1'000'000;
    }
    return done;
}

int sd_bus_add_filter(sd_bus* bus, sd_bus_slot** slot, sd_bus_message_handler_t handler,
                      void* data) {
    return registered("sd_bus_add_filter", bus, slot, handler, data);
}

int sd_bus_add_object(sd_bus* bus, sd_bus_slot** slot, const char* path,
                      sd_bus_message_handler_t handler, void* data) {
    return registered("sd_bus_add_object", bus, slot, path, handler, data);
}

int sd_bus_add_fallback(sd_bus* bus, sd_bus_slot** slot, const char* prefix,
                        sd_bus_message_handler_t handler, void* data) {
    return registered("sd_bus_add_fallback", bus, slot, prefix, handler, data);
}

int sd_bus_add_node_enumerator(sd_bus* bus, sd_bus_slot** slot, const char* path,
                               sd_bus_node_enumerator_t handler, void* data) {
    return registered("sd_bus_add_node_enumerator", bus, slot, path, handler, data);
}

void* malloc(std::size_t size) noexcept {
    if (strikes(genv::tests::memoryCalls)) {
        errno = strike();
        return nullptr;
    }
    return __libc_malloc(size);
}

void* calloc(std::size_t count, std::size_t size) noexcept {
    if (strikes(genv::tests::memoryCalls)) {
        errno = strike();
        return nullptr;
    }
    return __libc_calloc(count, size);
}

void* realloc(void* memory, std::size_t size) noexcept {
    if (strikes(genv::tests::memoryCalls)) {
        errno = strike();
        return nullptr;
    }
    return __libc_realloc(memory, size);
}

} // extern "C"
// NOLINTEND(bugprone-reserved-identifier)
