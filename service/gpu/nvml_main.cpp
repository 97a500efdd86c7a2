// SPDX-License-Identifier: LGPL-2.1-or-later
// genv-nvml: the process in which the driver's library runs, so that the library can hang, crash
// and print without harming the service. Reads requests from standard input and writes replies to
// standard output (nvml_protocol.hpp) until its input ends or its parent dies. If started by
// systemd, which does not know the deadlines, the process enforces its own time limit.
#include "core/base/command_line/help_formatter.hpp"
#include "core/base/command_line/parsing.hpp"
#include "core/base/descriptor.hpp"
#include "core/base/parent_end.hpp"
#include "service/gpu/nvml_protocol.hpp"
#include "service/gpu/nvml_sampler.hpp"

#include <CLI/CLI.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <string>
#include <string_view>
#include <system_error>

namespace {

using namespace genv::service;

[[noreturn]] void throwErrno(const char* what) {
    throw std::system_error(errno, std::generic_category(), what);
}

// Lets the kernel end this process if an answer exceeds the limit. Uses SIGKILL, which the driver's
// library can neither block nor catch.
class TimeLimit {
  public:
    /// 0 means no limit.
    explicit TimeLimit(std::chrono::seconds limit) : limit_(limit) {
        sigevent event{};
        event.sigev_notify = SIGEV_SIGNAL;
        event.sigev_signo = SIGKILL;
        if (limit_.count() > 0 && ::timer_create(CLOCK_MONOTONIC, &event, &timer_) < 0)
            throwErrno("timer_create");
    }
    TimeLimit(const TimeLimit&) = delete;
    TimeLimit& operator=(const TimeLimit&) = delete;
    ~TimeLimit() {
        if (limit_.count() > 0)
            ::timer_delete(timer_);
    }

    void begin() const { set(limit_); }
    void end() const { set(std::chrono::seconds{0}); }

  private:
    void set(std::chrono::seconds time) const {
        itimerspec value{};
        value.it_value.tv_sec = time.count();
        if (limit_.count() > 0 && ::timer_settime(timer_, 0, &value, nullptr) < 0)
            throwErrno("timer_settime");
    }

    std::chrono::seconds limit_;
    timer_t timer_{};
};

// Takes a descriptor away from the libraries in this process and puts a replacement in its place.
genv::core::Descriptor takeOver(int fd, int replacement) {
    genv::core::Descriptor own(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
    if (own.get() < 0 || ::dup2(replacement, fd) < 0)
        throwErrno("standard input or output");
    return own;
}

// Reads the next request. Returns false at the end of input.
bool readLine(int fd, std::string& line) {
    line.clear();
    for (char c = 0; line.size() < maxRequestSize;) {
        const ssize_t got = ::read(fd, &c, 1);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            throwErrno("read");
        if (got == 0)
            return false;
        if (c == '\n')
            return true;
        line += c;
    }
    throw ProtocolError("the request is too long");
}

void writeAll(int fd, std::string_view text) {
    while (!text.empty()) {
        const ssize_t written = ::write(fd, text.data(), text.size());
        if (written < 0 && errno != EINTR)
            throwErrno("write");
        if (written > 0)
            text.remove_prefix(static_cast<std::size_t>(written));
    }
}

void serve(NvmlSampler& sampler, const TimeLimit& limit) {
    const genv::core::Descriptor nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    const genv::core::Descriptor input = takeOver(STDIN_FILENO, nothing.get());
    const genv::core::Descriptor output = takeOver(STDOUT_FILENO, STDERR_FILENO);
    for (std::string line; readLine(input.get(), line);) {
        const std::uint64_t sample = decodeRequest(line);
        limit.begin();
        writeAll(output.get(), encodeAnswer(sample, sampler.sample()) + '\n');
        limit.end();
    }
}

} // namespace

int main(int argc, char** argv) {
    CLI::App app("Sample NVIDIA GPUs for genvd: answer {\"sample\":N} on standard input with a "
                 "line of JSON",
                 "genv-nvml");
    app.formatter(genv::core::helpFormatter());
    app.set_help_flag("-h,--help", "Print this help");
    std::string library = "libnvidia-ml.so.1";
    app.add_option("--library", library, "Load NVML from this name or path")
        ->type_name("LIBRARY")
        ->capture_default_str();
    std::string gpuFolder = "/proc/driver/nvidia/gpus";
    app.add_option("--gpu-folder", gpuFolder, "Restart NVML when the GPUs in this folder change")
        ->type_name("FOLDER")
        ->capture_default_str();
    std::string proc = "/proc";
    app.add_option("--proc", proc, "Read the nodes of MIG instances from this proc(5)")
        ->type_name("FOLDER")
        ->capture_default_str();
    std::string sys = "/sys";
    app.add_option("--sys", sys, "Read the DRM nodes of GPUs from this sysfs")
        ->type_name("FOLDER")
        ->capture_default_str();
    pid_t parent = 0;
    app.add_option("--parent", parent, "End with the parent process PID")->type_name("PID");
    unsigned seconds = 0;
    app.add_option("--time-limit", seconds, "End with SIGKILL if an answer takes longer")
        ->type_name("SECONDS")
        ->check(CLI::Range(1U, 3600U).description(""));
    if (const auto status = genv::core::exitAfterParsing(app, argc, argv))
        return *status;
    try {
        // Also ends this process when it hangs in the driver and cannot notice the end of its
        // input.
        if (parent != 0 && !genv::core::endWithParent(parent, SIGKILL))
            throw std::runtime_error("the parent is gone");
        const TimeLimit limit(std::chrono::seconds{seconds});
        NvmlSampler sampler(library, gpuFolder, proc, sys);
        serve(sampler, limit);
        return 0;
    } catch (const std::exception& error) {
        fmt::print(stderr, "genv-nvml: {}\n", error.what());
        return 1;
    }
}
