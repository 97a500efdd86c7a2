// SPDX-License-Identifier: LGPL-2.1-or-later
// What may come next on a command line. It is read off the very definition that parses command
// lines, so a new command or option is completed without a word here; only what an option's value
// may be is looked up in a table, and a test tells which options that lacks.
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

/// What the value of an option or argument is.
enum class ValueKind {
    Free,           ///< anything, such as a name: nothing to offer
    Words,          ///< one of a few fixed words
    File,           ///< the shell completes it
    Command,        ///< the shell completes it, and what follows are the command's own words
    Environment,    ///< an id
    OwnEnvironment, ///< an id of an environment that the caller may join
    Device,         ///< an index
    AttachedDevice, ///< an index that the environment of this shell holds
    DeviceCount,    ///< a number of devices
    DeviceUuid,     ///< a UUID
    Model,          ///< a model's name
    User,           ///< a name
    Uid,            ///< a number
    UserLimit,      ///< "name="
    RootProcess,    ///< a pid that keeps an environment alive
    ComputeProcess, ///< a pid that uses a GPU
    Ticket,         ///< of a request that waits
    Host,           ///< another machine that the caller's ssh knows
    HelpTopic,      ///< a command of genvctl, or a subcommand of the one before
};

/// The values that there are now of a kind other than the first four.
using LiveValues = std::function<std::vector<Candidate>(ValueKind)>;

struct ValueSource {
    ValueKind kind = ValueKind::Free;
    std::vector<std::string_view> words = {}; ///< of ValueKind::Words
};

/// What the value of an option or argument of a command is, such as ("genvctl limits", "USER");
/// nothing for one that the table lacks.
std::optional<ValueSource> valueSource(std::string_view command, const CLI::Option& option);

/// The command's name with those above it, such as "genvctl devices find", whatever the program is
/// called as.
std::string commandPath(const CLI::App& command);

struct Completion {
    /// Free: the candidates are all there is. File and Command: the shell completes, too.
    ValueKind kind = ValueKind::Free;
    std::size_t commandAt = 0; ///< of ValueKind::Command: which word is the command's name
    std::vector<Candidate> candidates;
};

/// Completes the last of the words that follow the program's name; it may be empty.
Completion complete(const CLI::App& app, const std::vector<std::string>& words,
                    const LiveValues& live);

/// What a shell's completion function reads: "values", "files" or "command N" on the first line,
/// then a candidate a line, with its help behind a tab.
std::string completionText(const Completion& completion);

} // namespace genv::ctl
