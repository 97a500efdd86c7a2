// SPDX-License-Identifier: LGPL-2.1-or-later
// The values that an option or argument takes, as far as the completion of shells can offer them.
#pragma once

#include <string_view>
#include <variant>
#include <vector>

namespace genv::ctl {

/// The type of the value of an option or argument.
enum class ValueKind {
    Free,           ///< anything, such as a name, so there are no candidates
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

/// A fixed set of words, in the order in which a shell offers them. Their texts outlive the
/// definition.
using OneOf = std::vector<std::string_view>;

using ValueSource = std::variant<ValueKind, OneOf>;

} // namespace genv::ctl
