// SPDX-License-Identifier: LGPL-2.1-or-later
// The names of genv-jobs on the bus of its user. The standard errors are in names.hpp.
#pragma once

namespace genv::dbus::contract {

inline constexpr const char* jobsBusName = "dev.genv.Jobs";
inline constexpr const char* jobsPath = "/dev/genv/Jobs";

namespace error {
inline constexpr const char* noSuchJob = "dev.genv.Error.NoSuchJob";
} // namespace error

} // namespace genv::dbus::contract
