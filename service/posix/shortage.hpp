// SPDX-License-Identifier: LGPL-2.1-or-later
// Errors that say something of this service and nothing of what it looked at: a process is not dead
// and a document not broken because there is no descriptor left to look at it with.
#pragma once

#include <cerrno>

namespace genv::service {

/// Whether an errno says that descriptors, memory or room ran out, so that it may work later.
inline bool isShortage(int error) {
    return error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOSPC;
}

} // namespace genv::service
