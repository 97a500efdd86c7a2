// SPDX-License-Identifier: LGPL-2.1-or-later
// Who may read a file of the service, besides the service and root. An access control list names a
// single user, so that the file stays the service's: its reader cannot change it or fill the file
// system with it, and the service needs no capability.
#pragma once

#include "core/base/process.hpp"

#include <optional>

namespace genv::service {

/// A user, or everyone. The user 0 stands for nobody but root.
using FileReader = std::optional<core::Uid>;

/// Lets only this reader read an open file of the service. Returns 0 or an errno value, ENOTSUP if
/// the file system has no access control lists.
int setReader(int file, const FileReader& reader);

/// Returns the reader of an open file.
FileReader readerOf(int file);

} // namespace genv::service
