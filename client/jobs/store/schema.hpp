// SPDX-License-Identifier: LGPL-2.1-or-later
// The tables of the database, and their upgrades from one version of genv to the next.
#pragma once

#include "client/jobs/store/database.hpp"

#include <span>

namespace genv::jobs {

/// Marks the file as ours: "genj".
inline constexpr std::int64_t applicationId = 0x67656e6a;

/// Statement lists: the first makes the tables of version 1, each further one the next version.
[[nodiscard]] std::span<const char* const> schemaUpgrades();

/// Brings a new database, or one of an earlier version, to the newest version in one transaction.
/// Throws JobError (StorageFailed) for a foreign file or one of a later version.
void upgrade(Database& database, std::span<const char* const> upgrades = schemaUpgrades());

} // namespace genv::jobs
