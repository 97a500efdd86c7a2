// SPDX-License-Identifier: LGPL-2.1-or-later
// Completes command lines. It reads the same definition that parses command lines, so a new command
// or option is completed without changes here. Only the values of options are looked up in a table,
// and a test finds options that are missing in it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class Option;
} // namespace CLI

namespace genv::ctl {

struct Candidate {
    std::string value;
    std::string help; ///< may be empty
};

/// The type of the value of an option or argument.
enum class ValueKind {
    Free,           ///< anything, such as a name, so there are no candidates
    Words,          ///< one of a fixed set of words
    File,           ///< completed by the shell
    Command,        ///< completed by the shell, followed by the command's own words
    Environment,    ///< an environment id
    OwnEnvironment, ///< an id of an environment that the caller may join
    Device,         ///< a device index
    AttachedDevice, ///< a device index attached to this shell's environment
    DeviceCount,    ///< a number of devices
    DeviceUuid,     ///< a UUID
    Model,          ///< a model name
    User,           ///< a user name
    Uid,            ///< a numeric user id
    UserLimit,      ///< "name="
    RootProcess,    ///< the PID of a process that keeps an environment alive
    ComputeProcess, ///< the PID of a process that uses a GPU
    Ticket,         ///< of a request in the queue
    Job,            ///< the number of a job
    Host,           ///< another machine that the user's ssh knows
    HelpTopic,      ///< a command of genvctl, or a subcommand of the previous one
};

/// Returns the current values of a kind, except for the first four kinds.
using LiveValues = std::function<std::vector<Candidate>(ValueKind)>;

struct ValueSource {
    ValueKind kind = ValueKind::Free;
    std::vector<std::string_view> words = {}; ///< for ValueKind::Words
};

/// Returns the values of an option or argument of a command, such as ("genvctl limits", "USER").
/// Returns nothing if it is missing in the table.
std::optional<ValueSource> valueSource(std::string_view command, const CLI::Option& option);

/// Returns the full name of a command, such as "genvctl devices find", independent of the name of
/// the program.
std::string commandPath(const CLI::App& command);

struct Completion {
    /// Free: there are no other candidates. File and Command: the shell adds its own.
    ValueKind kind = ValueKind::Free;
    std::size_t commandAt = 0; ///< for ValueKind::Command: the position of the command's name
    std::vector<Candidate> candidates;
};

/// Completes the last of the words after the program's name; it may be empty.
Completion complete(const CLI::App& app, const std::vector<std::string>& words,
                    const LiveValues& live);

/// Formats a completion for the shell's function: "values", "files" or "command N" on the first
/// line, then one candidate a line, with its help after a tab.
std::string completionText(const Completion& completion);

} // namespace genv::ctl
