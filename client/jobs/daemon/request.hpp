// SPDX-License-Identifier: LGPL-2.1-or-later
// The options of Activate that choose the GPUs of a job. They are checked at the submission, kept
// as JSON in the database, and sent to genvd when the turn of a task comes.
#pragma once

#include "dbus/contract/sdbus_compat.hpp"

#include <cstdint>
#include <map>
#include <string>

namespace genv::jobs {

using Dictionary = std::map<std::string, sdbus::Variant>;

/// Returns the options as JSON. Throws JobError (InvalidArgs) for an option that does not choose
/// GPUs, or that has another type.
[[nodiscard]] std::string encodeRequest(const Dictionary& options);
/// Throws JobError (StorageFailed) for a text that encodeRequest() did not return.
[[nodiscard]] Dictionary decodeRequest(const std::string& json);
/// Returns how many GPUs these options ask for.
[[nodiscard]] std::uint32_t countGpus(const Dictionary& options);

} // namespace genv::jobs
