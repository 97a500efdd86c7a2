// SPDX-License-Identifier: LGPL-2.1-or-later
// For tests: genv-park with a connection, as systemd starts it, and with the fake driver.
#pragma once

#include "core/base/descriptor.hpp"
#include "service/park/park_protocol.hpp"
#include "service/posix/descriptor_wait.hpp"
#include "service/processes/proc_files.hpp"
#include "tests/fake_cuda/cuda_machine.hpp"

#include <sys/socket.h>

#include <array>
#include <csignal>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

namespace genv::tests {

inline constexpr uid_t parkUser = 4711;
inline constexpr uid_t otherParkUser = 4712;

/// A running genv-park. The destructor kills it.
class ParkHelper {
  public:
    /// `library` is the folder of libcuda. `prepare` is called in the new process.
    ParkHelper(const CudaMachine& machine, const std::string& request,
               const std::string& deadline = "30", const std::string& library = FAKE_CUDA_FOLDER,
               const std::function<void()>& prepare = {}) {
        std::array<int, 2> ends{};
        if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) < 0)
            throw std::runtime_error("socketpair");
        own_ = core::Descriptor(ends[0]);
        const core::Descriptor other(ends[1]);
        pid_ = ::fork();
        if (pid_ == 0) {
            ::dup2(other.get(), STDIN_FILENO);
            ::dup2(other.get(), STDOUT_FILENO);
            ::setenv("LD_LIBRARY_PATH", library.c_str(), 1);
            ::setenv("GENV_FAKE_NVML", (machine.path() / "machine.json").c_str(), 1);
            if (prepare)
                prepare();
            ::execl(GENV_PARK, GENV_PARK, "--deadline", deadline.c_str(), nullptr);
            ::_exit(127);
        }
        const std::string line = request + '\n';
        if (::send(own_.get(), line.data(), line.size(), MSG_NOSIGNAL) < 0)
            throw std::runtime_error("send");
    }
    ParkHelper(const ParkHelper&) = delete;
    ParkHelper& operator=(const ParkHelper&) = delete;
    ~ParkHelper() { end(); }

    [[nodiscard]] int pid() const { return pid_; }

    /// Reads until the end of the connection, for 30 s at most.
    std::string read() const {
        std::string text;
        std::array<char, 512> chunk{};
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{30};
        while (service::becomesReadable(own_.get(), deadline)) {
            const ssize_t got = ::recv(own_.get(), chunk.data(), chunk.size(), 0);
            if (got <= 0)
                return text;
            text.append(chunk.data(), static_cast<std::size_t>(got));
        }
        return "no end";
    }
    /// Returns its status after its own end.
    int wait() {
        int status = 0;
        ::waitpid(pid_, &status, 0);
        pid_ = -1;
        return status;
    }
    void end() {
        if (pid_ > 0) {
            ::kill(pid_, SIGKILL);
            wait();
        }
    }

    /// Waits until its child has begun to load the library, and returns the child's PID.
    [[nodiscard]] int awaitChild() const {
        int child = 0;
        const bool waits = becomesTrue([&] {
            const std::string own = std::to_string(pid_);
            std::ifstream("/proc/" + own + "/task/" + own + "/children") >> child;
            return child > 0 && textOf(child, "maps").find("libcuda") != std::string::npos;
        });
        return waits ? child : 0;
    }

    static std::string statusOf(int pid) { return textOf(pid, "status"); }

  private:
    static std::string textOf(int pid, const char* file) {
        std::ostringstream text;
        text << std::ifstream("/proc/" + std::to_string(pid) + "/" + file).rdbuf();
        return text.str();
    }

    core::Descriptor own_;
    pid_t pid_ = -1;
};

/// Returns the target that a PID is now.
inline core::ParkingTarget parkTarget(int pid, uid_t uid = parkUser) {
    const auto identity = service::readIdentity(static_cast<core::Pid>(pid));
    return {identity.value_or(core::ProcessIdentity{}), uid};
}

/// Returns the line of a request for a process.
inline std::string parkLine(core::ParkingCall call, const core::ParkingTarget& target,
                            std::chrono::milliseconds timeout = std::chrono::seconds{10}) {
    return service::encodeParkRequest(service::ParkCallRequest{call, target, timeout});
}

} // namespace genv::tests
