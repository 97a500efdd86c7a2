// SPDX-License-Identifier: LGPL-2.1-or-later
// The files of messages in the home of this user.
#pragma once

#include "client/messages/model/configuration.hpp"

#include <filesystem>
#include <optional>
#include <string>

namespace genv::messages {

/// Returns the path of notify.conf: in $XDG_CONFIG_HOME/genv, by default ~/.config/genv. Throws
/// std::runtime_error without a home.
std::filesystem::path configurationFile();

struct ReadConfiguration {
    Configuration configuration;
    bool isPrivate = true; ///< whether no other user can read the file
};
/// Reads notify.conf. Returns nothing if there is no file. Throws UntrustedFile and
/// ConfigurationError.
std::optional<ReadConfiguration> readConfiguration();

/// Returns $XDG_STATE_HOME/genv/messages/MACHINE-ID, since homes are shared by machines. Throws
/// std::exception without a home or a machine id.
std::filesystem::path stateFolder();
/// Returns the folder of the events that wait for a channel.
std::filesystem::path spoolFolder(Channel channel);

/// Returns the name of this machine, printable.
std::string machineName();

} // namespace genv::messages
