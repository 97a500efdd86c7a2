// SPDX-License-Identifier: LGPL-2.1-or-later
// For tests: a machine with a fake driver in a folder of its own, and CUDA programs on it.
#pragma once

#include "tests/service/temporary_folder.hpp"

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace genv::tests {

/// Waits until a condition holds. Returns false after 30 s, longer than anything takes.
inline bool becomesTrue(const std::function<bool()>& condition) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{30};
    while (!condition()) {
        if (std::chrono::steady_clock::now() > deadline)
            return false;
        std::this_thread::sleep_for(std::chrono::milliseconds{2});
    }
    return true;
}

class CudaMachine {
  public:
    static constexpr std::uint64_t total = std::uint64_t{1} << 30U; ///< bytes of each GPU

    explicit CudaMachine(unsigned gpus = 1) {
        nlohmann::json machine{{"devices", nlohmann::json::array()}};
        for (unsigned index = 0; index < gpus; ++index)
            machine["devices"].push_back({{"uuid", "GPU-" + std::to_string(index)},
                                          {"memory", {{"total", total}, {"used", 0}}}});
        become(machine);
        std::filesystem::permissions(folder_.path(), std::filesystem::perms{0755});
        std::filesystem::create_directory(folder_.path() / "allocations");
        ::chmod((folder_.path() / "allocations").c_str(), 01777);
    }

    [[nodiscard]] const std::filesystem::path& path() const { return folder_.path(); }
    /// Sets the machine's file.
    void become(const nlohmann::json& machine) const { replace("machine.json", machine); }
    /// Sets the faults of all processes and callers (faults.hpp).
    void inject(const nlohmann::json& faults) const { replace("cuda.json", faults); }
    /// Sets the faults of a program that was started with this name.
    void inject(const std::string& program, const nlohmann::json& faults) const {
        replace(program + ".json", faults);
    }

    /// Returns the number of files of memory on the GPUs.
    [[nodiscard]] std::ptrdiff_t allocations() const {
        return std::distance(std::filesystem::directory_iterator(path() / "allocations"), {});
    }

    /// Removes the files of programs that have ended.
    void forgetAllocations() const {
        for (const auto& file : std::filesystem::directory_iterator(path() / "allocations"))
            std::filesystem::remove(file);
    }

    void replace(const std::string& name, const nlohmann::json& content) const {
        folder_.write(name + ".new", content.dump());
        std::filesystem::rename(path() / (name + ".new"), path() / name);
    }

  private:
    TemporaryFolder folder_;
};

/// A running cuda-program. The destructor kills it.
class CudaProgram {
  public:
    struct Options {
        std::vector<std::string> arguments{};
        uid_t uid = 0;                   ///< of another user, if the test runs as root
        std::string library;             ///< the folder of libcuda
        std::string program;             ///< the path of cuda-program
        std::function<void()> prepare{}; ///< called in the new process, before it changes its user
    };

    /// Waits until the program has its memory, and runs its kernel if it has one. `name` is any
    /// text that is unique in the test.
    CudaProgram(const CudaMachine& machine, const std::string& name, const Options& options)
        : progress_(machine.path() / (name + ".progress")),
          calls_(machine.path() / (name + ".calls")) {
        std::ofstream(progress_) << std::string(20, ' ') << '\n';
        std::ofstream(calls_).flush();
        ::chmod(progress_.c_str(), 0666);
        ::chmod(calls_.c_str(), 0666);
        if (::pipe2(output_.data(), O_CLOEXEC) < 0)
            throw std::runtime_error("pipe");
        pid_ = ::fork();
        if (pid_ == 0)
            run(machine, name, options);
        ::close(output_[1]);
        if (readLine() != "ready " + std::to_string(pid_))
            throw std::runtime_error("the program does not start: " + line_);
    }
    CudaProgram(const CudaProgram&) = delete;
    CudaProgram& operator=(const CudaProgram&) = delete;
    ~CudaProgram() {
        kill(SIGKILL);
        wait();
        ::close(output_[0]);
    }

    [[nodiscard]] int pid() const { return pid_; }
    void kill(int signal) const {
        if (!isReaped_)
            ::kill(pid_, signal);
    }
    /// Returns the status of waitpid(2).
    int wait() {
        if (!isReaped_)
            ::waitpid(pid_, &status_, 0);
        isReaped_ = true;
        return status_;
    }

    [[nodiscard]] std::uint64_t steps() const {
        std::uint64_t steps = 0;
        std::ifstream(progress_) >> steps;
        return steps;
    }
    /// Waits for further steps.
    [[nodiscard]] bool goesOn() const {
        const std::uint64_t before = steps();
        return becomesTrue([&] { return steps() > before; });
    }
    /// Returns the driver's function that a caller calls now for this program, or nothing.
    [[nodiscard]] std::string currentCall() const {
        std::string last;
        std::ifstream file(calls_);
        for (std::string line; std::getline(file, line);)
            last = line == "end" ? "" : line;
        return last;
    }
    /// Returns how often a function was called for this program.
    [[nodiscard]] int callsOf(const std::string& function) const {
        int count = 0;
        std::ifstream file(calls_);
        for (std::string line; std::getline(file, line);)
            count += line == function ? 1 : 0;
        return count;
    }
    /// Forgets the calls up to now.
    void forgetCalls() const { std::filesystem::resize_file(calls_, 0); }
    /// Lets the program compare all of its memory. Returns whether it was right.
    bool endsWell() {
        kill(SIGUSR1);
        return readLine().starts_with("done ") && wait() == 0;
    }
    /// Returns its resident memory in bytes.
    [[nodiscard]] std::uint64_t residentMemory() const {
        std::uint64_t pages = 0;
        std::ifstream file("/proc/" + std::to_string(pid_) + "/statm");
        file >> pages >> pages;
        return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    }

    /// Returns the next line of its output, which may be the last one.
    const std::string& readLine() {
        line_.clear();
        for (char next = 0; ::read(output_[0], &next, 1) == 1 && next != '\n';)
            line_ += next;
        return line_;
    }

  private:
    [[noreturn]] void run(const CudaMachine& machine, const std::string& name,
                          const Options& options) const {
        ::setenv("LD_LIBRARY_PATH", options.library.c_str(), 1);
        ::setenv("GENV_FAKE_NVML", (machine.path() / "machine.json").c_str(), 1);
        ::setenv("FAKE_CUDA_CALLS", calls_.c_str(), 1);
        ::setenv("FAKE_CUDA_FAULTS", (machine.path() / (name + ".json")).c_str(), 1);
        ::dup2(output_[1], STDOUT_FILENO);
        if (options.prepare)
            options.prepare();
        if (options.uid != 0 && (::setresgid(options.uid, options.uid, options.uid) != 0 ||
                                 ::setresuid(options.uid, options.uid, options.uid) != 0))
            ::_exit(126);
        std::vector<std::string> texts{options.program, "--progress", progress_};
        texts.insert(texts.end(), options.arguments.begin(), options.arguments.end());
        std::vector<char*> arguments;
        for (std::string& text : texts)
            arguments.push_back(text.data());
        arguments.push_back(nullptr);
        ::execv(options.program.c_str(), arguments.data());
        ::_exit(127);
    }

    std::string progress_;
    std::string calls_;
    std::array<int, 2> output_{-1, -1};
    pid_t pid_ = -1;
    int status_ = 0;
    bool isReaped_ = false;
    std::string line_;
};

} // namespace genv::tests
