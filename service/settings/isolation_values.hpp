// SPDX-License-Identifier: LGPL-2.1-or-later
// The values of [Isolation] in genvd.conf. Parsing is strict: an unknown word is an error, because
// an exemption by mistake would open every GPU to a user.
#pragma once

#include "core/settings/settings.hpp"

#include <string>

namespace genv::service {

// Each reader throws core::Error(InvalidArgs), which names the valid values.

core::IsolationMode readIsolationMode(const std::string& value);

/// Parses words separated by blanks: "system" and user names. At least one is required.
void readExemptions(const std::string& value, core::IsolationSettings& isolation);
std::string writeExemptions(const core::IsolationSettings& isolation);

/// Parses UUIDs of GPUs or MIG instances separated by blanks; empty for none.
void readOpenDevices(const std::string& value, core::IsolationSettings& isolation);
std::string writeOpenDevices(const core::IsolationSettings& isolation);

} // namespace genv::service
