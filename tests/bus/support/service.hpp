// SPDX-License-Identifier: LGPL-2.1-or-later
// The real genvd on the test's private bus: tests can start, kill and restart it, and read its log.
#pragma once

#include "tests/bus/support/client.hpp"
#include "tests/bus/support/processes.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace genv::tests {

/// The service's process. Its GPUs are simulated, unless the variables say otherwise.
class Service {
  public:
    explicit Service(std::map<std::string, std::string> variables = {});
    Service(const Service&) = delete;
    Service& operator=(const Service&) = delete;
    ~Service();

    /// Starts the service and waits until it owns its bus name.
    void start();
    /// Starts the service without waiting.
    void launch();
    /// Sets descriptors, by name, that the service gets at its next starts, as systemd passes them
    /// (sd_listen_fds_with_names(3)). The caller keeps owning them.
    void pass(std::map<std::string, int> descriptors) { passed_ = std::move(descriptors); }
    /// Sends a signal and waits for the end of the service. Returns its exit status, or 128 + the
    /// signal that ended it.
    int end(int signal);
    /// Waits for the end of the service.
    int wait();
    /// Returns whether the service has ended by itself, without waiting. It may then be started
    /// again.
    [[nodiscard]] bool hasEnded();
    void restart(int signal) {
        end(signal);
        start();
    }
    [[nodiscard]] bool isRunning() const { return pid_ > 0; }
    [[nodiscard]] pid_t pid() const { return pid_; }
    void set(const std::string& variable, const std::string& value) {
        variables_[variable] = value;
    }
    /// Sets another program to run at the next starts, in place of this build's genvd.
    void setProgram(std::string program) { program_ = std::move(program); }
    /// Adds a command line argument for the next starts.
    void addArgument(std::string argument) { arguments_.push_back(std::move(argument)); }

    /// Returns everything that the service has logged since the test began.
    [[nodiscard]] std::string log() const;
    /// Waits until the log contains a text.
    void waitForLog(const std::string& text) const;

    [[nodiscard]] static std::filesystem::path stateFolder();
    [[nodiscard]] static std::filesystem::path configurationFolder();

  private:
    void passDescriptors() const;

    std::string program_ = GENV_TEST_GENVD;
    std::map<std::string, std::string> variables_;
    std::map<std::string, int> passed_;
    std::vector<std::string> arguments_;
    std::filesystem::path log_;
    pid_t pid_ = -1;
};

/// Runs one of the harness's commands: stop-polkitd, restart-bus, add-rule NAME, ...
void control(const std::string& command, const std::string& input = "");

/// Sends a signal to a daemon of the harness: "polkitd" or "bus".
void signalDaemon(const std::string& daemon, int signal);

/// A polkit rule that applies during the lifetime of this object.
class Rule {
  public:
    /// `condition` is JavaScript over `action` and `subject`; `result` is for example "YES".
    Rule(std::string name, const std::string& condition, const std::string& result = "YES");
    Rule(const Rule&) = delete;
    Rule& operator=(const Rule&) = delete;
    ~Rule();

  private:
    std::string name_;
};

/// Waits until a condition holds, and checks it as often as the processor allows. Fails after 90 s.
void waitUntil(const std::function<bool()>& condition, const char* what);

} // namespace genv::tests
