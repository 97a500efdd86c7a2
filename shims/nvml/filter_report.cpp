// SPDX-License-Identifier: LGPL-2.1-or-later
#include "shims/nvml/filter_report.hpp"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <string_view>

namespace genv::shims {

namespace {

constexpr std::string_view noService =
    "genv: genvd does not answer, so NVML shows the whole machine (see \"genvctl status\")\n";
constexpr std::string_view anothers = "genv: the environment belongs to another user, so NVML "
                                      "shows the whole machine (see \"genvctl status\")\n";

constexpr std::array<std::string_view, 6> lines{"export-table\n", "memory\n",     "processes\n",
                                                "view\n",         "no-service\n", "anothers\n"};

std::array<std::atomic<bool>, lines.size()> reported;

bool isPending(int signal) {
    sigset_t pending;
    return sigpending(&pending) == 0 && sigismember(&pending, signal) == 1;
}

// Suppresses SIGPIPE. If the reader is gone, writing would otherwise end the program, which does
// not expect it.
void writeQuietly(int descriptor, std::string_view text) {
    sigset_t pipe;
    sigset_t before;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    const bool wasPending = isPending(SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, &before);
    while (write(descriptor, text.data(), text.size()) < 0 && errno == EINTR) {
    }
    if (!wasPending && isPending(SIGPIPE)) {
        const timespec now{0, 0};
        sigtimedwait(&pipe, nullptr, &now);
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

// Returns -1 if no report was requested.
int reportDescriptor() {
    const char* variable = std::getenv("GENV_NVML_FILTER_REPORT");
    if (variable == nullptr)
        return -1;
    const std::string_view text = variable;
    int descriptor = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), descriptor);
    return error == std::errc{} && end == text.data() + text.size() ? descriptor : -1;
}

} // namespace

void report(FilterEvent event) {
    const auto index = static_cast<std::size_t>(event);
    if (reported[index].load(std::memory_order_relaxed) || reported[index].exchange(true))
        return;
    if (event == FilterEvent::NoService)
        writeQuietly(STDERR_FILENO, noService);
    else if (event == FilterEvent::Anothers)
        writeQuietly(STDERR_FILENO, anothers);
    static const int descriptor = reportDescriptor();
    if (descriptor >= 0)
        writeQuietly(descriptor, lines[index]);
}

} // namespace genv::shims
