// SPDX-License-Identifier: LGPL-2.1-or-later
// The events of the history and of the service as JSON.
#pragma once

#include "client/genvctl/objects/schema.hpp"
#include "genv/types.hpp"

namespace genv::ctl {

/// Returns the kind of a signal. A kind that the history has, too, has the same name there.
const char* kindName(Event::Kind kind);

Json eventObject(const HistoryEvent& event);
Json eventObject(const Event& event);

} // namespace genv::ctl
