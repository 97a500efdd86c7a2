// SPDX-License-Identifier: LGPL-2.1-or-later
// What every command works with: the options that all take, the connection, made at the first call,
// and the shell function that called, if one did.
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

namespace genv::ctl {

enum class JsonMode { Off, Short, Pretty };

/// The options that every command takes.
struct GlobalOptions {
    JsonMode json = JsonMode::Off;
    bool noLegend = false;
    bool noAskPassword = false;
    bool full = false;                  ///< tables are not fitted to the terminal
    std::optional<std::string> host;    ///< the machine whose service is meant; unset: this one
    std::optional<std::string> cluster; ///< "slurm" or "none"; unset: as it is configured
};

/// The shell function of data/shell that runs this command.
struct ShellLink {
    Shell kind = Shell::Bash;
    std::uint32_t pid = 0; ///< of the shell
    int descriptor = -1;   ///< where it reads code from
    std::string began;     ///< when its environment began, as the status file says; empty: unknown
};

class Context {
  public:
    GlobalOptions options;
    std::optional<ShellLink> shell;
    /// Waiting for one's turn is given up when the other end of this is closed; -1: nothing.
    int waitsWhileOpen = -1;
    /// What to run, set by the subcommand that was named.
    std::function<void()> command;

    /// The connection to the service, of the machine that -H names. Throws ServiceUnavailable, and
    /// Failure for a host that is none.
    Client& client();
    /// The user that the service sees: on the machine that -H names, who one is there.
    std::uint32_t uid();
    /// The user with a name or a uid, on the machine that is meant. Throws Failure(Usage).
    std::uint32_t uidOf(const std::string& user);
    /// What a failed call means to the person who ran the command.
    Failure failureOf(const Error& error);

    /// Runs a call that may need an administrator: at first without a question, which is quick and
    /// needs no agent, and only where that is not enough once more with one.
    template <typename Call>
    auto authorised(Call&& call) {
        try {
            return call(client());
        } catch (const Error& error) {
            if (error.name() != dbus::contract::error::interactiveAuthorizationRequired ||
                options.noAskPassword || options.host)
                throw; // nobody can be asked on another machine
        }
        const PasswordAgent agent;
        client().allowInteraction(true);
        return call(client());
    }

    /// The environment that this shell is in; nothing when it is in none, in one that has ended, or
    /// in one of another user's. An id is free to be taken again, so one that is another
    /// environment's now is none of this shell's.
    std::optional<Environment> activeEnvironment();

    /// The id that this shell has, whatever became of it. Throws Failure(NotInEnvironment) where it
    /// has none.
    static std::string currentEnvironment();

    /// Runs a call about the environment of this shell. Throws Failure(NotInEnvironment) where
    /// there is none any more, and where it is another user's: only who names it means that.
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

    /// The shell function that called. Throws Failure that says how to set it up, where none did.
    const ShellLink& requireShell(const std::string& name);

    /// Sends code to the shell function that called; without one there is nothing to tell.
    void tellShell(const ShellCode& code);

    /// Prints a result as JSON if that was asked for; says whether it did.
    bool printJson(const Json& json);

    /// Warns of what an environment could not have as well as it should in the calls since
    /// listenForNotices().
    void warnOfNotices(const std::string& environment);

  private:
    /// Throws Failure(Usage) with -H: this shell's environment is on this machine.
    void requireThisMachine() const;
    /// What the variables name. In a shell that was activated before there was a stamp, the shell
    /// function says when its environment began, which is the same.
    [[nodiscard]] std::optional<client::NamedEnvironment> namedEnvironment() const;
    /// Throws Failure(NotInEnvironment) unless this shell's environment, with this id, is the
    /// caller's own.
    void requireOwn(const std::string& id);
    static Failure endedEnvironment(const std::string& id);

    /// What a shell lacks that was activated before there was a stamp.
    std::optional<Variable> missingStamp_;
    std::unique_ptr<remote::Session> session_; ///< of the machine that -H names
    std::optional<Client> client_;
};

} // namespace genv::ctl
