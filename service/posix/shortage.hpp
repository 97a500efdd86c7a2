// SPDX-License-Identifier: LGPL-2.1-or-later
// Recognizes errors that concern this service rather than the object of a call. If the service runs
// out of descriptors, the process that it wanted to open is not dead and the document is not
// broken.
#pragma once

#include <cerrno>

namespace genv::service {

/// Returns whether errno means that descriptors, memory or space ran out, so that a retry may
/// succeed.
inline bool isShortage(int error) {
    return error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOSPC;
}

} // namespace genv::service
