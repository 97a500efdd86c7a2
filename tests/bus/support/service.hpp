// SPDX-License-Identifier: LGPL-2.1-or-later
// The real genvd on the test's private bus: started, killed, started again, with its log kept for
// the test to read.
#pragma once

#include "tests/bus/support/client.hpp"
#include "tests/bus/support/processes.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace genv::tests {

/// The service's process. Simulated GPUs, unless the variables say otherwise.
class Service {
  public:
    explicit Service(std::map<std::string, std::string> variables = {});
    Service(const Service&) = delete;
    Service& operator=(const Service&) = delete;
    ~Service();

    /// Starts it and waits until it owns its name.
    void start();
    /// Starts it and waits for nothing.
    void launch();
    /// Descriptors, by name, that it is passed at its next starts as systemd passes them
    /// (sd_listen_fds_with_names(3)). They stay the caller's.
    void pass(std::map<std::string, int> descriptors) { passed_ = std::move(descriptors); }
    /// Sends a signal and waits for its end; its exit status, or 128 + the signal that ended it.
    int end(int signal);
    /// Waits for its end.
    int wait();
    /// Whether it has ended by itself; does not wait. It may then be started again.
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
    /// Another program in place of the genvd of this build, at its next starts.
    void setProgram(std::string program) { program_ = std::move(program); }
    /// A word more on its command line, at its next starts.
    void addArgument(std::string argument) { arguments_.push_back(std::move(argument)); }

    /// Everything that it wrote to its log since the test began.
    [[nodiscard]] std::string log() const;
    /// Waits until the log holds a text.
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

/// A polkit rule that is in force while this lives.
class Rule {
  public:
    /// `condition` is JavaScript over `action` and `subject`; `result` such as "YES".
    Rule(std::string name, const std::string& condition, const std::string& result = "YES");
    Rule(const Rule&) = delete;
    Rule& operator=(const Rule&) = delete;
    ~Rule();

  private:
    std::string name_;
};

/// Waits until a condition holds, looking again whenever the processor is free; fails after 90 s.
void waitUntil(const std::function<bool()>& condition, const char* what);

} // namespace genv::tests
