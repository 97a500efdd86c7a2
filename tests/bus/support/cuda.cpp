// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/bus/support/cuda.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

namespace genv::tests {

namespace {

const std::string libraries =
    std::string(GENV_TEST_FAKE_NVML_FOLDER) + ":" + GENV_TEST_FAKE_CUDA_FOLDER;

// Returns whether a socket accepts connections, without making one, which would start a helper.
bool isListening(const std::string& socket) {
    std::ifstream sockets("/proc/net/unix");
    for (std::string line; std::getline(sockets, line);) {
        if (line.ends_with(" " + socket) && line.find(" 00010000 ") != std::string::npos)
            return true;
    }
    return false;
}

std::vector<pid_t> childrenOf(pid_t process) {
    std::vector<pid_t> found;
    std::ifstream children("/proc/" + std::to_string(process) + "/task/" + std::to_string(process) +
                           "/children");
    for (pid_t child = 0; children >> child;)
        found.push_back(child);
    return found;
}

int killAll(const std::vector<pid_t>& processes) {
    int killed = 0;
    for (const pid_t process : processes)
        killed += ::kill(process, SIGKILL) == 0 ? 1 : 0;
    return killed;
}

} // namespace

ParkHelpers::ParkHelpers(const CudaMachine& machine)
    : socket_((Service::configurationFolder() / "park.sock").string()) {
    start(machine);
}

void ParkHelpers::start(const CudaMachine& machine, const std::string& folder) {
    std::filesystem::remove(socket_);
    listener_ = ::fork();
    if (listener_ == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        const int quiet = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
        ::dup2(quiet, STDERR_FILENO); // it tells about each connection
        ::setenv("LD_LIBRARY_PATH", folder.empty() ? libraries.c_str() : folder.c_str(), 1);
        ::setenv("GENV_FAKE_NVML", (machine.path() / "machine.json").c_str(), 1);
        // LeakSanitizer's own process would be one of their children, and a helper waits forever
        // for one that was killed. The unit tests look for leaks.
        ::execlp("systemd-socket-activate", "systemd-socket-activate", "--accept", "--inetd", "-E",
                 "LD_LIBRARY_PATH", "-E", "GENV_FAKE_NVML", "-E", "LSAN_OPTIONS=detect_leaks=0",
                 "--listen", socket_.c_str(), GENV_TEST_GENV_PARK, nullptr);
        ::_exit(127);
    }
    waitUntil([&] { return isListening(socket_); }, "the socket of genv-park");
}

ParkHelpers::~ParkHelpers() {
    stop();
}

void ParkHelpers::stop() {
    ::kill(listener_, SIGKILL);
    ::waitpid(listener_, nullptr, 0);
    std::filesystem::remove(socket_);
}

bool ParkHelpers::areDone() const {
    return becomesTrue([this] { return childrenOf(listener_).empty(); });
}

int ParkHelpers::killHelpers() const {
    return killAll(childrenOf(listener_));
}

int ParkHelpers::killTheirChildren() const {
    int killed = 0;
    for (const pid_t helper : childrenOf(listener_))
        killed += killAll(childrenOf(helper));
    return killed;
}

CudaBusTest::CudaBusTest(unsigned gpus) : machine(gpus) {
    service.end(SIGTERM);
    std::ofstream(Service::configurationFolder() / "genvd.conf") << "[GPU]\nBackend=nvml\n";
    service.set("LD_LIBRARY_PATH", libraries);
    service.set("GENV_FAKE_NVML", machine.path() / "machine.json");
    service.addArgument("--park-socket=" + helpers.socket());
    service.start();
}

void CudaBusTest::configure(const std::string& text) {
    std::ofstream(Service::configurationFolder() / "genvd.conf") << "[GPU]\nBackend=nvml\n" << text;
    const Answer answer = asRoot->manager("Reload");
    ASSERT_TRUE(answer.ok()) << answer.text;
}

std::unique_ptr<CudaProgram> CudaBusTest::compute(core::Uid uid, const std::string& environment,
                                                  const std::string& name,
                                                  const std::vector<std::string>& arguments,
                                                  const std::function<void()>& prepare) {
    const std::string devices = devicesOf(environment);
    const std::string created = propertyOf(environment, "Created");
    return std::make_unique<CudaProgram>(
        machine, name,
        CudaProgram::Options{arguments, uid, libraries, GENV_TEST_CUDA_PROGRAM, [=] {
                                 ::setenv("CUDA_VISIBLE_DEVICES",
                                          devices.substr(0, devices.find(' ')).c_str(), 1);
                                 ::setenv("GENV_ENVIRONMENT_ID", environment.c_str(), 1);
                                 ::setenv("GENV_ENVIRONMENT_CREATED", created.c_str(), 1);
                                 if (prepare)
                                     prepare();
                             }});
}

} // namespace genv::tests
