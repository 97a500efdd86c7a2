// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/recording/tool_recording.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

namespace genv::recording {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t maxOutput = std::size_t{4} << 20U;
constexpr unsigned maxTimeouts = 2;

const char* const gpuFields =
    "--query-gpu=index,uuid,name,memory.total,memory.used,memory.free,memory.reserved,"
    "utilization.gpu,utilization.memory,temperature.gpu,power.draw,mig.mode.current,compute_mode,"
    "persistence_mode,driver_version,pci.bus_id,clocks.current.sm,pstate";
const char* const processFields =
    "--query-compute-apps=gpu_uuid,pid,process_name,used_memory,gpu_bus_id,timestamp";

[[noreturn]] void execute(const std::string& program, const std::vector<std::string>& arguments,
                          int out, int err) {
    ::setsid();
    const int nothing = ::open("/dev/null", O_RDONLY);
    ::dup2(nothing, STDIN_FILENO);
    ::dup2(out, STDOUT_FILENO);
    ::dup2(err, STDERR_FILENO);
    std::vector<char*> words{const_cast<char*>(program.c_str())};
    for (const std::string& argument : arguments)
        words.push_back(const_cast<char*>(argument.c_str()));
    words.push_back(nullptr);
    ::execv(program.c_str(), words.data());
    ::_exit(127);
}

struct Pipe {
    Pipe() {
        if (::pipe2(ends.data(), O_CLOEXEC) < 0)
            throw std::system_error(errno, std::generic_category(), "pipe");
    }
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;
    ~Pipe() {
        ::close(ends[0]);
        closeWriting();
    }
    void closeWriting() {
        if (ends[1] >= 0)
            ::close(ends[1]);
        ends[1] = -1;
    }
    std::array<int, 2> ends{};
};

int millisecondsUntil(Clock::time_point deadline) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    return static_cast<int>(std::max<std::int64_t>(left.count(), 0));
}

// Reads both outputs until they end. Returns whether they ended in time.
bool readOutputs(int out, int err, Clock::time_point deadline, ToolOutput& output) {
    std::array<pollfd, 2> waiting{pollfd{out, POLLIN, 0}, pollfd{err, POLLIN, 0}};
    const std::array<std::string*, 2> texts{&output.out, &output.err};
    while (waiting[0].fd >= 0 || waiting[1].fd >= 0) {
        if (::poll(waiting.data(), waiting.size(), millisecondsUntil(deadline)) == 0)
            return false;
        for (std::size_t i = 0; i < waiting.size(); ++i) {
            if (waiting[i].fd < 0 || waiting[i].revents == 0)
                continue;
            std::array<char, 65536> chunk{};
            const ssize_t got = ::read(waiting[i].fd, chunk.data(), chunk.size());
            if (got > 0 && texts[i]->size() < maxOutput)
                texts[i]->append(chunk.data(), static_cast<std::size_t>(got));
            if (got == 0 || (got < 0 && errno != EINTR))
                waiting[i].fd = -1;
        }
    }
    return true;
}

// Waits for the end. A process that hangs in the kernel is left to init.
bool awaitEnd(pid_t child, Clock::time_point deadline, int& status) {
    while (::waitpid(child, &status, WNOHANG) == 0) {
        if (millisecondsUntil(deadline) == 0)
            return false;
        const timespec pause{0, 1'000'000};
        ::nanosleep(&pause, nullptr);
    }
    return true;
}

ToolOutput runMode(const std::string& program, const ToolMode& mode, std::chrono::seconds timeout) {
    ToolOutput output{mode.name, mode.arguments, {}, {}, std::nullopt, 0};
    Pipe out;
    Pipe err;
    const pid_t child = ::fork();
    if (child < 0)
        throw std::system_error(errno, std::generic_category(), "fork");
    if (child == 0)
        execute(program, mode.arguments, out.ends[1], err.ends[1]);
    out.closeWriting();
    err.closeWriting();
    const auto deadline = Clock::now() + timeout;
    int status = 0;
    if (readOutputs(out.ends[0], err.ends[0], deadline, output) &&
        awaitEnd(child, deadline, status)) {
        output.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        output.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
        return output;
    }
    ::kill(-child, SIGKILL);
    ::kill(child, SIGKILL);
    awaitEnd(child, Clock::now() + std::chrono::seconds{1}, status);
    return output;
}

} // namespace

const std::vector<ToolMode>& toolModes() {
    static const std::vector<ToolMode> modes{
        {"help", {"-h"}},
        {"version", {"--version"}},
        {"L", {"-L"}},
        {"B", {"-B"}},
        {"qx", {"-q", "-x"}},
        {"default", {}},
        {"i0", {"-i", "0"}},
        {"i9", {"-i", "9"}},
        {"q", {"-q"}},
        {"qd", {"-q", "-d", "MEMORY,UTILIZATION,PIDS"}},
        {"dm", {"-q", "-d", "PAGE_RETIREMENT"}},
        {"querygpu", {gpuFields, "--format=csv"}},
        {"querygpu-plain", {gpuFields, "--format=csv,noheader,nounits"}},
        {"queryapps", {processFields, "--format=csv"}},
        {"queryapps-plain", {processFields, "--format=csv,noheader,nounits"}},
        {"queryaccounted", {"--query-accounted-apps=gpu_uuid,pid", "--format=csv"}},
        {"queryretired", {"--query-retired-pages=gpu_uuid,retired_pages.address", "--format=csv"}},
        {"queryremapped",
         {"--query-remapped-rows=gpu_uuid,remapped_rows.correctable", "--format=csv"}},
        {"dmon", {"dmon", "-c", "1"}},
        {"dmonm", {"dmon", "-s", "m", "-c", "1"}},
        {"pmon", {"pmon", "-c", "1"}},
        {"pmonm", {"pmon", "-s", "m", "-c", "1"}},
        {"topo", {"topo", "-m"}},
        {"topop", {"topo", "-p2p", "r"}},
        {"nvlink", {"nvlink", "-s"}},
        {"c2c", {"c2c", "-s"}},
        {"cc", {"conf-compute", "-f"}},
        {"pci", {"pci", "-gCnt"}},
        {"powerp", {"power-profiles", "-l"}},
        {"vgpu", {"vgpu"}},
        {"miglgi", {"mig", "-lgi"}},
        {"miglgip", {"mig", "-lgip"}},
        {"miglci", {"mig", "-lci"}},
    };
    return modes;
}

std::vector<ToolOutput> recordTool(const std::string& program, std::chrono::seconds timeout) {
    std::vector<ToolOutput> outputs;
    unsigned timeouts = 0;
    for (const ToolMode& mode : toolModes()) {
        if (timeouts >= maxTimeouts)
            break;
        outputs.push_back(runMode(program, mode, timeout));
        timeouts += outputs.back().status ? 0U : 1U;
    }
    return outputs;
}

} // namespace genv::recording
