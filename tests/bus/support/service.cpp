// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/bus/support/service.hpp"

#include "core/base/parent_end.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <thread>

namespace genv::tests {

namespace {

// The signal that ends a service that a test leaves running: the fastest one, unless coverage
// counters must be written first.
#ifdef GENV_COVERAGE
constexpr int endingSignal = SIGTERM;
#else
constexpr int endingSignal = SIGKILL;
#endif

std::filesystem::path harnessFolder() {
    const char* folder = std::getenv("GENV_PRIVATE_BUS");
    if (folder == nullptr)
        throw std::runtime_error("run this through tests/private_bus/private-bus");
    return folder;
}

std::filesystem::path variable(const char* name) {
    const char* value = std::getenv(name);
    if (value == nullptr)
        throw std::runtime_error(std::string(name) +
                                 " is not set: run this through tests/private_bus/private-bus");
    return value;
}

std::string readText(const std::filesystem::path& file) {
    std::ifstream stream(file);
    return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

} // namespace

void waitUntil(const std::function<bool()>& condition, const char* what) {
    const auto deadline = std::chrono::steady_clock::now() + eventDeadline;
    while (!condition()) {
        if (std::chrono::steady_clock::now() > deadline)
            throw std::runtime_error(std::string("waited in vain for ") + what);
        std::this_thread::yield();
    }
}

Service::Service(std::map<std::string, std::string> variables)
    : variables_(std::move(variables)), log_(harnessFolder() / "genvd.log") {
    variables_.emplace("GENV_MOCK_DEVICE_COUNT", "4");
    variables_.emplace("GENV_MOCK_COMPUTE_APPS_PROCESS_NAME", computeProcessName);
    variables_.emplace("GENV_MOCK_COMPUTE_APPS_DEVICES", "all");
    std::filesystem::remove_all(stateFolder());
    std::filesystem::remove(stateFolder().parent_path() / "use.json");
    std::filesystem::remove_all(variable("STATE_DIRECTORY"));
    std::filesystem::remove_all(configurationFolder() / "genvd.conf");
    std::filesystem::remove(log_);
}

Service::~Service() {
    if (isRunning())
        end(endingSignal);
}

void Service::launch() {
    const pid_t parent = ::getpid();
    pid_ = ::fork();
    if (pid_ == 0) {
        if (!core::endWithParent(parent, SIGKILL))
            ::_exit(127);
        const int log = ::open(log_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        ::dup2(log, STDERR_FILENO);
        for (const auto& [name, value] : variables_)
            ::setenv(name.c_str(), value.c_str(), 1);
        passDescriptors();
        std::vector<char*> words{program_.data()};
        for (std::string& argument : arguments_)
            words.push_back(argument.data());
        words.push_back(nullptr);
        ::execv(program_.c_str(), words.data());
        ::_exit(127);
    }
}

void Service::start() {
    launch();
    Client client(root);
    // A check that any process owns the name is not enough: the bus may not know yet that the
    // previous service has exited.
    const auto ownsItsName = [&] {
        if (::waitpid(pid_, nullptr, WNOHANG) == pid_) {
            pid_ = -1;
            throw std::runtime_error("genvd ended at its start:\n" + log());
        }
        Message query = client.newCall("org.freedesktop.DBus", "/org/freedesktop/DBus",
                                       "org.freedesktop.DBus", "GetConnectionUnixProcessID");
        sd_bus_message_append(query.get(), "s", "dev.genv.Manager");
        const Answer answer = client.send(query);
        std::uint32_t pid = 0;
        return answer.ok() && sd_bus_message_read(answer.message.get(), "u", &pid) > 0 &&
               pid == static_cast<std::uint32_t>(pid_);
    };
    waitUntil(ownsItsName, "genvd's name");
}

// Runs in the child: the descriptors become 3, 4, ..., and the variables name this process.
void Service::passDescriptors() const {
    if (passed_.empty())
        return;
    constexpr int first = 3;
    std::vector<int> copies;
    std::string names;
    for (const auto& [name, fd] : passed_) {
        // Moves the copies above the numbers that they will get.
        copies.push_back(::fcntl(fd, F_DUPFD_CLOEXEC, first + static_cast<int>(passed_.size())));
        names += (names.empty() ? "" : ":") + name;
    }
    for (std::size_t i = 0; i < copies.size(); ++i)
        ::dup2(copies[i], first + static_cast<int>(i));
    ::setenv("LISTEN_PID", std::to_string(::getpid()).c_str(), 1);
    ::setenv("LISTEN_FDS", std::to_string(copies.size()).c_str(), 1);
    ::setenv("LISTEN_FDNAMES", names.c_str(), 1);
}

int Service::end(int signal) {
    ::kill(pid_, signal);
    return wait();
}

int Service::wait() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool Service::hasEnded() {
    if (isRunning() && ::waitpid(pid_, nullptr, WNOHANG) == pid_)
        pid_ = -1;
    return !isRunning();
}

std::string Service::log() const {
    return readText(log_);
}

void Service::waitForLog(const std::string& text) const {
    waitUntil([&] { return log().find(text) != std::string::npos; }, text.c_str());
}

std::filesystem::path Service::stateFolder() {
    return variable("RUNTIME_DIRECTORY") / "environments";
}

std::filesystem::path Service::configurationFolder() {
    return variable("CONFIGURATION_DIRECTORY");
}

void control(const std::string& command, const std::string& input) {
    const std::string line = (harnessFolder() / "control").string() + " " + command;
    FILE* pipe = ::popen(line.c_str(), "w");
    if (pipe == nullptr)
        throw std::runtime_error("popen");
    std::fwrite(input.data(), 1, input.size(), pipe);
    if (::pclose(pipe) != 0)
        throw std::runtime_error("failed: " + line);
}

void signalDaemon(const std::string& daemon, int signal) {
    const pid_t pid = std::stoi(readText(harnessFolder() / (daemon + ".pid")));
    if (::kill(pid, signal) < 0)
        throw std::runtime_error("no daemon " + daemon);
}

Rule::Rule(std::string name, const std::string& condition, const std::string& result)
    : name_(std::move(name)) {
    control("add-rule " + name_, "polkit.addRule(function(action, subject) { if (" + condition +
                                     ") return polkit.Result." + result + "; });\n");
}

Rule::~Rule() {
    control("remove-rule " + name_);
}

} // namespace genv::tests
