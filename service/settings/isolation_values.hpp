// SPDX-License-Identifier: LGPL-2.1-or-later
// The values of [Isolation] in genvd.conf. Reading is strict: a word that is not understood is an
// error, since an exemption by mistake would open every GPU to somebody.
#pragma once

#include "core/settings.hpp"

#include <string>

namespace genv::service {

// Each reader throws core::Error(InvalidArgs), which says what would be right.

core::IsolationMode readIsolationMode(const std::string& value);

/// Words separated by blanks: "system" and names of users. At least one.
void readExemptions(const std::string& value, core::IsolationSettings& isolation);
std::string writeExemptions(const core::IsolationSettings& isolation);

/// UUIDs of GPUs or MIG instances separated by blanks; empty for none.
void readOpenDevices(const std::string& value, core::IsolationSettings& isolation);
std::string writeOpenDevices(const core::IsolationSettings& isolation);

} // namespace genv::service
