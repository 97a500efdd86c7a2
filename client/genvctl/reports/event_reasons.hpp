// SPDX-License-Identifier: LGPL-2.1-or-later
// The reasons of events in words, for the lists of past and present events.
#pragma once

#include <string>
#include <string_view>

namespace genv::ctl {

/// Returns the reason of an event, a text of core::Reason, as a clause: "the lease ended", "by the
/// rule env-memory". A reason of a later service stays as it is.
std::string reasonText(std::string_view reason);

} // namespace genv::ctl
