// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/journal/unreadable_pages.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

namespace genv::service::journal {

namespace {

// The flag that records a replacement in this thread; null if pages must not be replaced.
constinit thread_local volatile std::sig_atomic_t* noted = nullptr;

std::uintptr_t pageSize = 0;
struct sigaction former {};

bool replace(const void* address) {
    const std::uintptr_t page = reinterpret_cast<std::uintptr_t>(address) & ~(pageSize - 1);
    void* start = reinterpret_cast<void*>(page); // NOLINT(performance-no-int-to-ptr)
    return ::mmap(start, pageSize, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
           start;
}

// Runs in the reading thread, at the instruction that reads the page.
void onBusError(int number, siginfo_t* info, void* /*context*/) {
    const int error = errno;
    if (noted != nullptr && info->si_code == BUS_ADRERR && replace(info->si_addr)) {
        *noted = 1;
    } else {
        ::sigaction(number, &former, nullptr);
        ::raise(number); // delivered once this handler has returned
    }
    errno = error;
}

void install() {
    pageSize = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    struct sigaction action {};
    action.sa_sigaction = onBusError;
    action.sa_flags = SA_SIGINFO;
    ::sigaction(SIGBUS, &action, &former);
}

} // namespace

UnreadablePages::UnreadablePages() {
    static const bool installed = (install(), true);
    static_cast<void>(installed);
    noted = &found_;
}

UnreadablePages::~UnreadablePages() {
    noted = nullptr;
}

} // namespace genv::service::journal
