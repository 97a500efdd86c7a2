// SPDX-License-Identifier: LGPL-2.1-or-later
// The state that all commands use: the global options, the connection, which is made at the first
// call, and the shell function that called genvctl, if any.
#pragma once

#include "client/genvctl/common/exit_status.hpp"
#include "client/genvctl/shell/shell_code.hpp"
#include "client/genvctl/terminal/json.hpp"
#include "client/genvctl/terminal/password_agent.hpp"
#include "client/remote/ssh/session.hpp"
#include "dbus/contract/names.hpp"
#include "genv/client.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace genv::ctl {

class JobSystem;

enum class JsonMode { Off, Short, Pretty };

/// The options that every command accepts.
struct GlobalOptions {
    JsonMode json = JsonMode::Off;
    bool noLegend = false;
    bool noAskPassword = false;
    bool full = false;                  ///< do not fit tables to the terminal
    std::optional<std::string> host;    ///< the machine of the service; unset for this one
    std::optional<std::string> cluster; ///< "slurm" or "none"; unset for the configured one
};

/// Prints a result as JSON if the user requested JSON, and returns whether it did.
bool printJson(const GlobalOptions& options, const Json& json);

/// The shell function of data/shell that runs this command.
struct ShellLink {
    Shell kind = Shell::Bash;
    std::uint32_t pid = 0; ///< PID of the shell
    int descriptor = -1;   ///< where the shell reads code from
    std::string began; ///< start of its environment according to the status file; empty if unknown
    std::vector<std::string> readOnly; ///< the variables of genv that the shell cannot change
};

class Context {
  public:
    GlobalOptions options;
    std::optional<ShellLink> shell;
    /// Waiting in the queue is canceled when the other end of this descriptor is closed. -1 means
    /// that there is none.
    int waitsWhileOpen = -1;
    /// The function to run, set by the subcommand that was named.
    std::function<void()> command;
    /// Opens what runs the user's jobs (jobs/job_system.hpp): genv-jobs, unless the command is
    /// about a cluster. The command line sets it before the command runs.
    std::function<std::unique_ptr<JobSystem>()> openJobs;

    /// Returns the connection to the service of this machine, or of the machine given by -H. Throws
    /// ServiceUnavailable, and Failure for an invalid host.
    Client& client();
    /// Returns the uid that the service sees: with -H, the user's uid on that machine.
    std::uint32_t uid();
    /// Returns the uid of a user given by name or uid, on the machine of the service. Throws
    /// Failure(Usage).
    std::uint32_t uidOf(const std::string& user);
    /// Returns a hint at an environment whose id or name is like this id, if there is one.
    std::optional<std::string> otherEnvironmentHint(const std::string& id);
    /// Converts the failure of a call to the failure of a command.
    Failure failureOf(const Error& error);

    /// Runs a call that may need an administrator. The first attempt asks for no password, which is
    /// fast and needs no agent. Only if this is not sufficient, the call is repeated with an agent.
    template <typename Call>
    auto authorized(Call&& call) {
        try {
            return call(client());
        } catch (const Error& error) {
            if (error.name() != dbus::contract::error::interactiveAuthorizationRequired ||
                options.noAskPassword || options.host)
                throw; // nobody can enter a password on another machine
        }
        const PasswordAgent agent;
        client().allowInteraction(true);
        return call(client());
    }

    /// Returns the environment of this shell, or nothing if there is none, if it has ended, or if
    /// it belongs to another user. An id can be used again, so a newer environment with the same id
    /// is not this shell's.
    std::optional<Environment> activeEnvironment();

    /// Returns the id of this shell's environment, even if that has ended. Throws
    /// Failure(NotInEnvironment) if there is none.
    static std::string currentEnvironment();

    /// Runs a call about this shell's environment. Throws Failure(NotInEnvironment) if it no longer
    /// exists or belongs to another user, whose environments must be named explicitly.
    template <typename Call>
    auto inEnvironment(Call&& call) {
        requireThisMachine();
        const std::string id = currentEnvironment();
        requireOwn(id);
        try {
            return call(id);
        } catch (const Error& error) {
            if (error.name() == dbus::contract::error::noSuchEnvironment)
                throw endedEnvironment(id);
            throw;
        }
    }

    /// Returns the shell function that called genvctl. Throws Failure with the setup command if
    /// there is none.
    const ShellLink& requireShell(const std::string& name);

    /// Throws Failure if the calling shell cannot change one of these variables, before anything is
    /// requested for it.
    void requireWritable(const std::vector<Variable>& variables) const;

    /// Sends code to the calling shell function. Does nothing without one.
    void sendToShell(const ShellCode& code);

    /// Warns about restrictions of an environment that calls since listenForNotices() have caused.
    void warnOfNotices(const std::string& environment);

  private:
    /// Throws Failure(Usage) with -H, because this shell's environment is on this machine.
    void requireThisMachine() const;
    /// Returns the environment that the variables name. If the shell was activated by a version
    /// without GENV_ENVIRONMENT_CREATED, the shell function supplies the start time of the
    /// environment, which is the same value.
    [[nodiscard]] std::optional<client::NamedEnvironment> namedEnvironment() const;
    /// Throws Failure(NotInEnvironment) unless this shell's environment, with this id, belongs to
    /// the caller.
    void requireOwn(const std::string& id);
    static Failure endedEnvironment(const std::string& id);

    /// The variable that a shell lacks if it was activated by a version without
    /// GENV_ENVIRONMENT_CREATED.
    std::optional<Variable> missingStamp_;
    std::unique_ptr<remote::Session> session_; ///< of the machine given by -H
    std::optional<Client> client_;
};

} // namespace genv::ctl
