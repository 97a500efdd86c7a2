// SPDX-License-Identifier: LGPL-2.1-or-later
// A message as mail (RFC 5322), as sendmail -t reads it.
#pragma once

#include "client/messages/model/letter.hpp"
#include "core/base/time.hpp"

#include <string>

namespace genv::messages {

/// `to` is an address that isMailAddress() accepts.
std::string mailOf(const Letter& letter, const std::string& to, core::WallTime now);

} // namespace genv::messages
